"""Plain tables of texts, drawn for a terminal, as Markdown, or as CSV."""

import csv
import io
import math
from collections.abc import Sequence
from typing import NamedTuple

import rich.table
from rich.console import Group, RenderableType
from rich.text import Text

from harness.report import columns


def without_empty_last(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Leave out the last column, which is that of notes, where nothing stands in it."""
    end = None if any(row[-1] for row in rows) else -1
    return tuple(header[:end]), tuple(tuple(row[:end]) for row in rows)


class Sheet(NamedTuple):
    """A title, a heading with rows under it (or none), and lines under these."""

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    left: int = 1  # how many columns are texts and not numbers
    names: int | None = None  # how many of these tell rows apart; all by default


def render(sheets: Sequence[Sheet], width: int | None = None) -> RenderableType:
    """Return the sheets for a terminal, tables wider than ``width`` in parts, each with the columns of names: no number is cut."""
    return Group(*(part for sheet in sheets for part in _drawn(sheet, width)))


def _drawn(sheet: Sheet, width: int | None) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(sheet.title, style="bold")]
    texts = list(zip(sheet.header, *sheet.rows, strict=True))  # by column
    wanted = [max(map(len, column)) for column in texts]
    needed = [max(columns.longest_word(column[0]), *map(_unbroken, column[1:]), 0) for column in texts]
    for places, widths in columns.layout(needed, wanted, sheet.names or sheet.left, width) if sheet.header else ():
        table = rich.table.Table()
        for place, wide in zip(places, widths, strict=True):
            table.add_column(Text(sheet.header[place]), justify="left" if place < sheet.left else "right", width=wide, overflow="fold")
        for row in sheet.rows:
            table.add_row(*(Text(row[place]) for place in places))
        parts.append(table)
    return [*parts, *map(Text, sheet.lines), Text("")]


PROSE = 30  # characters from which an entry is a sentence, and may be broken between words


def _unbroken(text: str) -> int:
    return len(text) if len(text) <= PROSE else columns.longest_word(text)


def markdown(sheets: Sequence[Sheet]) -> str:
    """Return the sheets as Markdown."""
    return "\n".join(_marked(sheet) for sheet in sheets)


def _marked(sheet: Sheet) -> str:
    lines = [f"### {escape(sheet.title)}", ""]
    if sheet.header:
        rule = "---|" * sheet.left + "---:|" * (len(sheet.header) - sheet.left)
        lines += [f"| {' | '.join(map(escape, row))} |" for row in (sheet.header, *sheet.rows)]
        lines[3:3] = [f"|{rule}"]
    if sheet.lines:
        lines += [*([""] if sheet.header else []), *(f"- {escape(line)}" for line in sheet.lines)]
    return "\n".join(lines).rstrip("\n") + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ")


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as CSV."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()


def number(value: float) -> str:
    """A number with at least four digits of its own, never as a zero that it is not."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def plus_minus(mean: float, std: float | None) -> str:
    """Return "1,547 ± 316", or the mean alone without a spread. Whole numbers stay whole; else the spread has two digits of its own.

    At most two more than leave the mean three digits: beyond that the spread is written apart, so that it is no zero that it is not.
    """
    if std is None:
        return number(mean)
    if mean == int(mean) and std == int(std):
        return f"{mean:,.0f} ± {std:,.0f}"
    needed = max(0, 2 - _exponent(mean))
    digits = min(max(needed, 1 - _exponent(std)), needed + 2) if std > 0 else needed
    spread = f"{std:,.{digits}f}"
    return f"{mean:,.{digits}f} ± {spread if std == 0 or float(spread.replace(',', '')) else f'{std:.2g}'}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(value))
