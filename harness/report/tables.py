"""What the tables of a run say, before anybody draws them: frameworks by models, one table per mode, device and precision."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from harness import devices
from harness.core.models import MODELS
from harness.matrix import Cell
from harness.ratios import Verdict, paired, ratio, verdict
from harness.results import Run
from harness.stats import Rate
from harness.statuses import Status
from harness.summary import CellResult

SIZE_UNITS = {"pixels": "px", "tokens": "tokens"}  # as columns have them


class Entry(NamedTuple):
    """One cell of a table: its text, the number of a note under the table, whether it is the best of its column, whose it is."""

    text: str
    note: int | None = None
    best: bool = False  # the fastest of its column, or not told apart from it
    cell: str = ""  # the key of the cell that it tells of


class Row(NamedTuple):
    title: str
    entries: tuple[Entry, ...]


class Table(NamedTuple):
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


class Notes:
    """Remarks on cells, each numbered once."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def of(self, result: CellResult) -> str:
        """Return the numbers of what is to be said about a cell."""
        said = [*([] if result.status is Status.OK else [f"{result.status}: {result.reason}"]), *result.flags]
        return " ".join(f"[{_note(self._texts, text)}]" for text in said)

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for text, number in self._texts.items()]


Key = TypeVar("Key")


def separately(results: Iterable[CellResult], key: Callable[[Cell], Key]) -> Iterable[tuple[Key, list[CellResult]]]:
    """Results with the same ``key``, in the order of the plan."""
    found: dict[Key, list[CellResult]] = {}
    for result in results:
        found.setdefault(key(result.cell), []).append(result)
    return found.items()


def row_title(run: Run, adapter: str, variant: str, copy_number: int) -> str:
    """The framework's name, the variant where the run has several of that framework, and which of two alike."""
    several = len(run.variants[adapter]) > 1
    return run.titles[adapter] + (f" ({variant})" if several else "") + (" again" if copy_number > 1 else "")


class Kind(NamedTuple):
    """What all cells of one table share."""

    mode: str
    device: str
    precision: str
    track: str
    threads: int | None  # where the run goes through several

    @property
    def title(self) -> str:
        doing = "Training" if self.mode == "train" else "Inference"
        on = "" if self.threads is None else f", threads {self.threads}"
        return f"{doing}, {self.precision}, {self.device}{on}" + ("" if self.track == "as-shipped" else f", {self.track}")


def groups(run: Run) -> dict[Kind, list[CellResult]]:
    """The cells of each table, in the order of the plan."""
    several = len({result.cell.threads for result in run.cells}) > 1

    def kind(cell: Cell) -> Kind:
        return Kind(cell.mode, cell.device, cell.precision, cell.track, cell.threads if several else None)

    return dict(separately(run.cells, kind))


def tables(run: Run) -> list[Table]:
    """Return the tables of ``run`` in the order of its plan."""
    return [_table(run, kind, results) for kind, results in groups(run).items()]


def _table(run: Run, kind: Kind, results: list[CellResult]) -> Table:
    notes: dict[str, int] = {}
    rows = []
    counted = len({r.rate.steps for r in results if r.rate is not None}) > 1
    best = {column: fastest(rivals, run.suite.measure.margin) for column, rivals in separately(results, _column)}
    for name, own in separately(results, _rival):
        mine = {_column(r.cell): r for r in own}
        entries = [_entry(mine[c], best[c], notes, counted) if c in mine else Entry(text="not planned") for c in best]
        rows.append(Row(title=row_title(run, *name), entries=tuple(entries)))
    units = list(dict.fromkeys(MODELS[model].unit for model, _, _ in best))
    return Table(
        title=f"{kind.title}: " + _listed(units) + " per second",
        columns=tuple(
            column_title(model, batch, size) + (f", {MODELS[model].unit}/s" if len(units) > 1 else "") for model, batch, size in best
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        caption=_caption(run, kind.device, results),
    )


Column = tuple[str, int, int]


def _column(cell: Cell) -> Column:
    return (cell.model, cell.batch, cell.size)


def _rival(cell: Cell) -> tuple[str, str, int]:
    return (cell.adapter, cell.variant, cell.copy_number)


def column_title(model: str, batch: int, size: int) -> str:
    """Model and batch, and the size where it is not the published one."""
    return f"{MODELS[model].title}, batch {batch}" + (
        "" if size == MODELS[model].size else f", {size} {SIZE_UNITS[MODELS[model].size_unit]}"
    )


def fastest(rivals: list[CellResult], margin: float) -> set[str]:
    """Keys of the cells that lead a column: the highest rate, and all that are not shown to be slower than it."""
    ranked = [r for r in rivals if r.rate is not None and r.status is Status.OK]
    if len(ranked) < 2:
        return set()
    first = max(ranked, key=lambda r: r.rate.mean if r.rate else 0.0)
    leading = {first.cell.key}
    for other in (r for r in ranked if r is not first):
        found = ratio(paired(other.blocks, first.blocks))
        if found is not None and verdict(found, margin) is not Verdict.SLOWER:
            leading.add(other.cell.key)
    return leading


def _entry(result: CellResult, best: set[str], notes: dict[str, int], counted: bool) -> Entry:
    """One cell. ``counted``: numbers of the table rest on different numbers of steps, so each says on how many."""
    if result.rate is not None and result.status.has_number:
        said = [*([] if result.status is Status.OK else [f"{result.status}: {result.reason}"]), *result.flags]
        note = _note(notes, "; ".join(said)) if said else None
        steps = f" ({result.rate.steps})" if counted else ""
        return Entry(plus_minus(result.rate) + steps, note, result.cell.key in best, result.cell.key)
    if result.status is Status.UNSUPPORTED:
        return Entry("N/A", _note(notes, result.reason), cell=result.cell.key)
    return Entry(str(result.status), _note(notes, f"{result.status}: {result.reason}"), cell=result.cell.key)


def _note(notes: dict[str, int], text: str) -> int:
    """The number of a note, which is its place under the table."""
    return notes.setdefault(text, len(notes) + 1)


def _caption(run: Run, device: str, results: list[CellResult]) -> tuple[str, ...]:
    windows = dict.fromkeys(str(r.ledger["window"]) for r in results if r.ledger)
    steps = [r.rate for r in results if r.rate is not None]
    lines = [device_line(run, device, results)]
    if steps:
        blocks = _span([s.blocks for s in steps])
        counts = _span([s.steps for s in steps])
        rests = f"in brackets the steps that a number rests on, {counts}" if "to" in counts else f"{counts} steps a number"
        lines.append(f"Rate = all work / all time, ± standard deviation over {blocks} blocks; {rests}.")
        lines.append(_precision(run, steps))
        lines.append(f"Timed: {'; '.join(windows)}.")
    lines += [f"Noise before the run: {warning}." for warning in run.noise]
    return tuple(lines)


def device_line(run: Run, device: str, results: list[CellResult]) -> str:
    """What ran on what, and how."""
    counts = sorted({result.cell.threads or run.threads for result in results if result.ledger}) or [run.threads]
    threads = "1 CPU thread" if counts == [1] else f"{_span(counts)} CPU threads"
    return "; ".join([_device_name(run, device), threads, *filter(None, [_frameworks(results)])]) + "."


def _precision(run: Run, rates: list[Rate]) -> str:
    """How precisely the rates are known, and what ended the measuring."""
    target, known = run.suite.measure.target, [rate.half_width for rate in rates]
    reached = sum(width <= target for width in known)
    widest = f"{max(known):.1%}" if math.isfinite(max(known)) else "unknown"
    end = "" if reached == len(known) else f"; the budget ended {len(known) - reached} before {target:.1%} was reached"
    return f"95 % interval of the rates: ± {min(known):.1%} to ± {widest}{end}."


def _listed(units: list[str]) -> str:
    return " or ".join(part for part in (", ".join(units[:-1]), units[-1]) if part)


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
    field, value = ("uuid", device) if devices.is_uuid(device) else ("index", devices.number(device))
    named = [gpu["name"] for gpu in run.host["gpus"] if gpu[field] == value]
    return str(named[0]) if named else device
