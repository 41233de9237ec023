"""Which columns of a table go side by side: no number may be cut or broken because a terminal is narrow."""

from collections.abc import Iterator, Sequence

FRAME = 3  # characters around an entry: a line and two spaces


def layout(needed: Sequence[int], wanted: Sequence[int], names: int, width: int | None) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the places of the columns of each part of a table, and their widths.

    ``needed`` is the least width of each column, ``wanted`` that of its texts unbroken. The first ``names`` are never broken.
    """
    needed = [*wanted[:names], *needed[names:]]
    for places in parts(needed, names, width):
        yield places, fitted([needed[place] for place in places], [wanted[place] for place in places], width)


def longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def parts(widths: Sequence[int], names: int, width: int | None) -> list[list[int]]:
    """Return the places of the columns of each part of a table that is ``width`` wide at most, or of its only part.

    ``widths`` are what the columns' texts need. The first ``names`` columns stand in every part, and at least one more.
    """
    if width is None:
        return [list(range(len(widths)))]
    found = [list(range(names))]
    for place in range(names, len(widths)):
        taken = 1 + sum(FRAME + widths[other] for other in [*found[-1], place])
        if taken > width and len(found[-1]) > names:
            found.append(list(range(names)))
        found[-1].append(place)
    return found


def fitted(needed: Sequence[int], wanted: Sequence[int], width: int | None) -> list[int]:
    """Return widths of one part's columns: what each needs, and as much of what it wants as there is room for, the neediest first."""
    found = list(needed)
    spare = sum(wanted) if width is None else width - 1 - sum(FRAME + needs for needs in needed)
    for _ in range(max(0, spare)):
        place = max(range(len(found)), key=lambda column: wanted[column] - found[column])
        if wanted[place] <= found[place]:
            break
        found[place] += 1
    return found
