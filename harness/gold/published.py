"""Gold tables: what was published, under which conditions; those that ship and those of users' own."""

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pydantic

from harness import toml
from harness.config import Mode, Precision
from harness.errors import UserError
from harness.gold import cells, files, names
from harness.gold.records import Entry, Record, Value
from harness.suggest import unknown

# Of a gold file. 1: first version.
VERSION = 1
FOLDER = Path(__file__).resolve().parent / "tables"

Unit = Literal["images/s", "tokens/s", "samples/s", "sequences/s", "batches/s"]
# What a number in the file is, and how a time becomes a rate: samples / seconds.
Given = Literal["rate", "ms", "s"]
PER_SECOND = {"ms": 1000.0, "s": 1.0}


class ColumnSpec(Record):
    """What a gold file says of one column; ``[defaults]`` says it of all columns that do not."""

    model: str | None = pydantic.Field(None, description="the model's name, where the column's heading says more than that")
    unit: Unit | None = pydantic.Field(None, description="of the throughput")
    given: Given | None = pydantic.Field(None, description="what the cells hold; 'rate' otherwise")
    samples: float | None = pydantic.Field(None, ge=1, le=1e12, description="samples processed in the time that a cell holds")
    mode: Mode | None = None
    precision: Precision | None = None
    batch: int | None = pydantic.Field(None, ge=1)
    spread: Literal["absolute", "relative", "unknown"] | None = pydantic.Field(None, description="how the source writes the ±")


class GoldFile(Record):
    """A gold file. Its ``cells`` are CSV: frameworks by columns, or long with framework, model and value."""

    version: Literal[1]
    title: str
    source: str
    hardware: str
    spread: str = pydantic.Field(description="what the ± is, as far as the source says; 'none' where there is none")
    conditions: tuple[str, ...] = pydantic.Field(min_length=1)
    repeats: bool = pydantic.Field(False, description="a cell holds the values of several runs, with ';' between them")
    defaults: ColumnSpec = ColumnSpec()
    columns: dict[str, ColumnSpec] = {}
    cells: str


class Column(Record):
    """One column of a gold table: a model under conditions. ``batch``, ``mode`` and ``precision`` are None where the source is silent."""

    name: str
    model: str
    unit: Unit
    given: Given
    samples: float | None
    mode: Mode | None
    precision: Precision | None
    batch: int | None
    spread: Literal["absolute", "relative", "unknown"] | None

    @property
    def key(self) -> str:
        return names.heading(self.model).model

    def rate(self, value: Value) -> Value:
        """Return the throughput for a number of the file. A time's relative spread becomes the rate's, to first order."""
        std = None if self.spread == "unknown" else value.std
        if self.given == "rate":
            return Value(mean=value.mean, std=std)
        mean = (self.samples or 0) * PER_SECOND[self.given] / value.mean
        return Value(mean=mean, std=None if std is None else mean * std / value.mean)


class Gold(Record):
    """One gold table, in throughputs. ``cells`` has every pair of a framework and a column, None for N/A."""

    name: str
    title: str
    source: str
    hardware: str
    spread: str
    conditions: tuple[str, ...]
    frameworks: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: dict[tuple[str, str], Value | None]
    words: dict[tuple[str, str], str]  # what stands in place of a number that is not there

    def count(self) -> tuple[int, int]:
        """How many numbers, and how many N/A."""
        numbers = sum(value is not None for value in self.cells.values())
        return numbers, len(self.cells) - numbers

    def nested(self) -> dict[str, dict[str, float | None]]:
        """The means, as ``compute_metric`` takes them: by framework, then by column."""
        found: dict[str, dict[str, float | None]] = {framework: {} for framework in self.frameworks}
        for (framework, column), value in self.cells.items():
            found[framework][column] = None if value is None else value.mean
        return found


def shipped() -> dict[str, Path]:
    """The gold tables that ship, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def load(name: str) -> Gold:
    """Return the table that ships under ``name``, or the one in the file of that path; raise ``UserError`` where there is none."""
    known = shipped()
    if name in known:
        return read(known[name])
    if Path(name).suffix.lower() == ".toml":
        return read(Path(name))
    raise UserError(f"{unknown('gold table', name, known)} Your own: a file whose name ends with .toml, as in docs/gold.md.")


def read(path: Path) -> Gold:
    """Return the gold table in ``path``; raise ``UserError`` with every fault of its fields, or the first of its cells."""
    files.text_of(path)  # says what is no text, and what is too large
    try:
        file = toml.load(path, GoldFile)
    except RecursionError:
        raise UserError(f"{path}: is nested too deeply for a gold table.")
    entries = list(_entries(path, file))
    headings = tuple(dict.fromkeys(entry.model for entry in entries))
    for heading in file.columns:
        if heading not in headings:
            raise UserError(f"{path}: columns: {unknown('column of cells', heading, headings)}")
    columns = {heading: _column(path, file, heading) for heading in headings}
    frameworks = tuple(dict.fromkeys(entry.framework for entry in entries))
    _told_apart(path, "framework", frameworks, names.framework)
    _told_apart(path, "column", headings, names.fold)
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        if (entry.framework, entry.model) in found:
            raise UserError(f"{entry.where}: {entry.framework}, {entry.model} stands there twice.")
        if entry.unit not in (None, columns[entry.model].unit):
            raise UserError(f"{entry.where}: is in {entry.unit}, and the column {entry.model} in {columns[entry.model].unit}.")
        _spread_as_said(entry, columns[entry.model])
        found[entry.framework, entry.model] = entry
    values: dict[tuple[str, str], Value | None] = {}
    words: dict[tuple[str, str], str] = {}
    for pair in ((framework, heading) for framework in frameworks for heading in headings):
        value = found[pair].value if pair in found else None
        values[pair] = None if value is None else columns[pair[1]].rate(value)
        if value is None:
            words[pair] = found[pair].word if pair in found else "N/A"
    said = {field: getattr(file, field) for field in ("title", "source", "hardware", "spread", "conditions")}
    return Gold(name=path.stem, frameworks=frameworks, columns=tuple(columns.values()), cells=values, words=words, **said)


def _entries(path: Path, file: GoldFile) -> Iterator[Entry]:
    """The cells as entries; a cell of repeats becomes their mean ± standard deviation (n - 1) first."""
    text = _averaged(path, file.cells) if file.repeats else file.cells
    entries = files.from_csv(f"{path}: cells", text.lstrip("\n"))
    if not entries:
        raise UserError(f"{path}: cells has no table in it.")
    yield from entries


def _averaged(path: Path, text: str) -> str:
    lines = text.strip("\n").split("\n")
    averaged = [",".join(_mean(path, number, cell) for cell in line.split(",")) for number, line in enumerate(lines[1:], start=2)]
    return "\n".join([lines[0], *averaged])


def _mean(path: Path, line: int, cell: str) -> str:
    if ";" not in cell:
        return cell
    try:
        runs = [cells.read(text).value for text in cell.split(";")]
    except ValueError as error:
        raise UserError(f"{path}: cells:{line}: {error}.")
    if None in runs:
        raise UserError(f"{path}: cells:{line}: {cells.shown(cell)}: every run has a number.")
    means = [run.mean for run in runs if run is not None]
    return f"{statistics.fmean(means)!r} ± {statistics.stdev(means)!r}"


def _column(path: Path, file: GoldFile, heading: str) -> Column:
    own = file.columns.get(heading, ColumnSpec())
    merged = {**file.defaults.model_dump(exclude_none=True), **own.model_dump(exclude_none=True)}
    named = names.heading(heading)
    merged = {"given": "rate", "model": heading, "batch": named.batch, **merged}
    if "unit" not in merged:
        raise UserError(f'{path}: column {heading} has no unit. Write [columns."{heading}"] with unit = "images/s", or [defaults].')
    if merged["given"] != "rate" and "samples" not in merged:
        raise UserError(f"{path}: column {heading} is given in {merged['given']}, so it needs samples = N: how many a time is for.")
    if merged["given"] == "rate" and "samples" in merged:
        raise UserError(f"{path}: column {heading} has samples and holds rates. Was given = 'ms' or 's' meant?")
    return Column.model_validate({field: merged.get(field) for field in Column.model_fields if field != "name"} | {"name": heading})


def _told_apart(path: Path, kind: str, listed: tuple[str, ...], key: Callable[[str], str]) -> None:
    seen: dict[str, str] = {}
    for name in listed:
        folded = key(name)
        if folded in seen:
            raise UserError(f"{path}: the {kind}s '{seen[folded]}' and '{name}' are one name. Tell them apart.")
        seen[folded] = name


def _spread_as_said(entry: Entry, column: Column) -> None:
    """A ± must be of the kind that the column declares: a 3 that was meant as 3 % would be believed otherwise."""
    if entry.value is None or entry.value.std is None or column.spread == "unknown":
        return
    written = "relative" if entry.relative else "absolute"
    if column.spread != written:
        said = "says nothing of a spread" if column.spread is None else f"says spread = '{column.spread}'"
        raise UserError(f"{entry.where}: {entry.framework}, {entry.model} has a ± that is {written}, and the column {said}.")
