"""What the tables of a run say, before anybody draws them: frameworks by models, one table per mode, device and precision."""

import math
from itertools import groupby

import pydantic

from harness.core.models import MODELS
from harness.results import CellResult, Run
from harness.stats import Rate
from harness.statuses import Status

SIZE_UNITS = {"pixels": "px", "tokens": "tokens"}  # as columns have them


class Entry(pydantic.BaseModel):
    """One cell of a table: its text, the number of a note under the table, whether it is the best of its column."""

    text: str
    note: int | None = None
    best: bool = False


class Row(pydantic.BaseModel):
    title: str
    entries: tuple[Entry, ...]


class Table(pydantic.BaseModel):
    """One table. ``notes`` are numbered from 1; ``caption`` is what one must know to read the numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    caption: tuple[str, ...]


def plus_minus(rate: Rate) -> str:
    """Return "mean ± std": the deviation with two significant digits where that leaves the mean with three to five."""
    needed = max(0, 2 - _exponent(rate.mean))
    wanted = 1 - _exponent(rate.std) if rate.std > 0 else needed
    digits = min(max(wanted, needed), needed + 2)
    return f"{rate.mean:,.{digits}f} ± {rate.std:,.{digits}f}"


def _exponent(number: float) -> int:
    return math.floor(math.log10(number))


def ranked(table: Table) -> bool:
    """Whether some entry is the best of its column, so that a reader must be told how that is shown."""
    return any(entry.best for row in table.rows for entry in row.entries)


def _row_title(run: Run, adapter: str, variant: str) -> str:
    """The framework's name, and the variant where the run has several of that framework."""
    several = len({result.cell.variant for result in run.cells if result.cell.adapter == adapter}) > 1
    return f"{run.titles[adapter]} ({variant})" if several else run.titles[adapter]


def tables(run: Run) -> list[Table]:
    """Return the tables of ``run`` in the order of its plan."""

    def kind(result: CellResult) -> tuple[str, str, str]:
        return (result.cell.mode, result.cell.device, result.cell.precision)

    order = list(dict.fromkeys(kind(result) for result in run.cells))
    grouped = {key: list(group) for key, group in groupby(sorted(run.cells, key=lambda r: order.index(kind(r))), key=kind)}
    return [_table(run, key, results) for key, results in grouped.items()]


def _table(run: Run, key: tuple[str, str, str], results: list[CellResult]) -> Table:
    mode, device, precision = key
    columns = list(dict.fromkeys((r.cell.model, r.cell.batch, r.cell.size) for r in results))
    notes: list[str] = []
    rows = []
    for adapter, variant in dict.fromkeys((r.cell.adapter, r.cell.variant) for r in results):
        mine = {(r.cell.model, r.cell.batch, r.cell.size): r for r in results if (r.cell.adapter, r.cell.variant) == (adapter, variant)}
        entries = []
        for column in columns:
            rivals = [r for r in results if (r.cell.model, r.cell.batch, r.cell.size) == column]
            entries.append(_entry(mine[column], rivals, notes) if column in mine else Entry(text="not planned"))
        rows.append(Row(title=_row_title(run, adapter, variant), entries=tuple(entries)))
    units = list(dict.fromkeys(MODELS[model].unit for model, _, _ in columns))
    doing = "Training" if mode == "train" else "Inference"
    return Table(
        title=f"{doing}, {precision}, {device}: " + " or ".join(units) + " per second",
        columns=tuple(
            f"{MODELS[model].title}, batch {batch}"
            + ("" if size == MODELS[model].size else f", {size} {SIZE_UNITS[MODELS[model].size_unit]}")
            + (f", {MODELS[model].unit}/s" if len(units) > 1 else "")
            for model, batch, size in columns
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        caption=_caption(run, device, results),
    )


def _entry(result: CellResult, rivals: list[CellResult], notes: list[str]) -> Entry:
    if result.rate is not None and result.status.has_number:
        ranked = [r.rate.mean for r in rivals if r.rate is not None and r.status is Status.OK]
        best = result.status is Status.OK and len(ranked) > 1 and result.rate.mean == max(ranked)
        note = None if result.status is Status.OK else _note(notes, f"{result.status}: {result.reason}")
        return Entry(text=plus_minus(result.rate), note=note, best=best)
    if result.status is Status.UNSUPPORTED:
        return Entry(text="N/A", note=_note(notes, result.reason))
    return Entry(text=str(result.status), note=_note(notes, f"{result.status}: {result.reason}"))


def _note(notes: list[str], text: str) -> int:
    if text not in notes:
        notes.append(text)
    return notes.index(text) + 1


def _caption(run: Run, device: str, results: list[CellResult]) -> tuple[str, ...]:
    windows = dict.fromkeys(str(r.ledger["window"]) for r in results if r.ledger)
    steps = [r.rate for r in results if r.rate is not None]
    lines = [f"{_device_name(run, device)}; {run.threads} CPU thread{'' if run.threads == 1 else 's'}; {_frameworks(results)}."]
    if steps:
        blocks = _span([s.blocks for s in steps])
        lines.append(
            f"Rate = all samples / all time, ± standard deviation over {blocks} blocks; {_span([s.steps for s in steps])} steps a number."
        )
        lines.append(f"Timed: {'; '.join(windows)}.")
    return tuple(lines)


def _frameworks(results: list[CellResult]) -> str:
    """Name each framework's version and how it ran, in every way that it did."""
    ways: dict[str, dict[str, None]] = {}
    for result in results:
        if result.ledger:
            ways.setdefault(f"{result.ledger['framework']} {result.ledger['version']}", {})[str(result.ledger["execution"])] = None
    return ", ".join(f"{name} ({' or '.join(found)})" for name, found in ways.items())


def _span(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _device_name(run: Run, device: str) -> str:
    if device == "cpu":
        return str(run.host["cpu"])
    index = int(device.partition(":")[2] or 0)
    named = [gpu["name"] for gpu in run.host["gpus"] if gpu["index"] == index]
    return str(named[0]) if named else device
