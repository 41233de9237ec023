"""A grid of texts, from CSV or Markdown, to entries: frameworks by models, or one entry a row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from harness.errors import UserError
from harness.gold import cells, names
from harness.gold.records import Entry

LONGEST_NAME = 200
NOT_THERE = "not planned"  # what this harness's tables have where the run has no such cell; "N/A" would be a statement
SPREADS = ("_pm", "_std")
LONG = {"framework", "model", "value"}
LONG_ALSO = {"std", "unit"}


class Grid(NamedTuple):
    """A heading and rows as texts, the line that each row began on, and what the file says of all of them."""

    source: str
    header: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]
    common: dict[str, Any] = {}
    line: int = 1


def entries(grid: Grid) -> list[Entry]:
    """Return the entries of ``grid``; raise ``UserError``, naming file and line, where it cannot be read.

    Long: the columns framework, model and value, and perhaps std and unit; one entry a row. Wide otherwise: the first
    column names frameworks, each other one is a model, and ``X_pm`` or ``X_std`` beside ``X`` has what follows the ±.
    """
    for line, row in grid.rows:
        if len(row) != len(grid.header):
            hint = " Numbers with a comma stand in quotes." if len(row) > len(grid.header) else ""
            raise UserError(f"{grid.source}:{line}: has {len(row)} cells where the heading has {len(grid.header)}.{hint}")
    titles = [title.strip() for title in grid.header]
    lower = [title.casefold() for title in titles]
    found = _long(grid, lower) if set(lower) >= LONG else _wide(grid, titles)
    return [entry for entry in found if entry.word != NOT_THERE]


def _long(grid: Grid, titles: list[str]) -> list[Entry]:
    strangers = [title for title in titles if title not in LONG | LONG_ALSO]
    if strangers or len(set(titles)) < len(titles):
        wrong = cells.shown(strangers[0] if strangers else next(title for title in titles if titles.count(title) > 1))
        allowed = "a table with the columns framework, model and value may have std and unit besides, each once"
        raise UserError(f"{grid.source}:{grid.line}: column {wrong}: {allowed}.")
    found = []
    for line, row in grid.rows:
        fields = dict(zip(titles, row, strict=True))
        place = f"{grid.source}:{line}"
        unit = _at(place, names.unit, fields["unit"]) if fields.get("unit", "").strip() else None
        own = {"unit": unit} if unit else {}
        found.append(entry(place, fields["framework"], fields["model"], fields["value"], fields.get("std", ""), {**grid.common, **own}))
    return found


def _wide(grid: Grid, titles: list[str]) -> list[Entry]:
    place = f"{grid.source}:{grid.line}"
    if len(titles) < 2:
        raise UserError(f"{place}: is no table of frameworks by models: it has {len(titles)} column{'' if len(titles) == 1 else 's'}.")
    bases = {index: _base(title) for index, title in enumerate(titles[1:], start=1)}
    models = {titles[index]: index for index, base in bases.items() if base is None}
    spreads: dict[str, int] = {}
    for index, base in bases.items():
        if base is None:
            continue
        if base not in models or base in spreads:
            raise UserError(f"{place}: column {cells.shown(titles[index])} has no column {cells.shown(base)} of its own.")
        spreads[base] = index
    if len(models) + len(spreads) < len(titles) - 1:
        twice = next(title for title in titles[1:] if titles.count(title) > 1)
        raise UserError(f"{place}: two columns are called {cells.shown(twice)}.")
    found = []
    for line, row in grid.rows:
        for model, index in models.items():
            spread = row[spreads[model]] if model in spreads else ""
            found.append(entry(f"{grid.source}:{line}", row[0], model, row[index], spread, grid.common))
    return found


def _base(title: str) -> str | None:
    """The model that a column of spreads belongs to; None for a column of values."""
    return next((title[: -len(end)].strip() for end in SPREADS if title.casefold().endswith(end)), None)


def entry(place: str, framework: str, model: str, text: str, spread: str, common: dict[str, Any]) -> Entry:
    """Return one entry; raise ``UserError`` that begins with ``place`` and names the pair."""
    framework, model = (" ".join(name.split()) for name in (framework, model))
    for kind, name in (("framework", framework), ("model", model)):
        if not names.fold(name) or not name.isprintable() or len(name) > LONGEST_NAME:
            raise UserError(f"{place}: the {kind} is {cells.shown(name)}, which is no name.")
    try:
        reading = cells.read(text, spread)
    except ValueError as error:
        raise UserError(f"{place}: {cells.shown(framework)}, {cells.shown(model)}: {error}.")
    named = names.heading(model)
    conditions = {"batch": named.batch, "size": named.size, **common} | ({"unit": named.unit} if named.unit else {})
    facts = {"value": reading.value, "word": reading.word, "relative": reading.relative}
    return Entry(framework=framework, model=model, where=place, **facts, **conditions)


def _at(place: str, convert: Any, text: str) -> Any:
    try:
        return convert(text)
    except UserError as error:
        raise UserError(f"{place}: {error}")
