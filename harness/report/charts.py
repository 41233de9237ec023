"""Charts of a run as data: marks along an axis, placed in per cent of its length. ``page`` only draws them."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.core.models import MODELS
from harness.ratios import Ratio
from harness.report import latency
from harness.report.head_to_head import base_of, compared, told
from harness.report.sheets import number
from harness.report.tables import column_title, groups, row_title, separately
from harness.results import Run
from harness.summary import Block, CellResult

TICKS = 5  # about so many along an axis
DECADE = (1, 2, 5, 10)  # what a reader counts in


class Mark(NamedTuple):
    """A point, or where it has a width, a bar. ``height`` is where in its line, from above; ``says`` what is told of it."""

    place: float
    says: str
    width: float = 0.0
    height: float = 50.0


class Line(NamedTuple):
    """A name, its marks, and what they come to. One without marks is a heading of those under it."""

    name: str
    marks: tuple[Mark, ...] = ()
    says: str = ""


class Chart(NamedTuple):
    title: str
    explained: str
    ticks: tuple[tuple[float, str], ...]  # places and texts
    lines: tuple[Line, ...]
    one: float | None = None  # where the baseline stands


class Axis:
    """Where values stand on an axis that holds them all: from zero on, or by their logarithms."""

    def __init__(self, values: Sequence[float], logarithmic: bool) -> None:
        self._logarithmic = logarithmic
        ends = (math.log(min(values)), math.log(max(values))) if logarithmic else (0.0, max(values))
        room = 0.03 * (ends[1] - ends[0]) or 0.03
        self._low, self._high = ends[0] - (room if logarithmic else 0), ends[1] + room

    def place(self, value: float) -> float:
        return 100 * ((math.log(value) if self._logarithmic else value) - self._low) / (self._high - self._low)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        low, high = (math.exp(self._low), math.exp(self._high)) if self._logarithmic else (self._low, self._high)
        values = _decades(low, high) if self._logarithmic and high > 4 * low else _even(low, high)
        return tuple((self.place(value), f"{value:,.10g}") for value in values)


def _even(low: float, high: float) -> list[float]:
    """Whole multiples of the smallest of 1, 2, 5, 10, 20, ... that has few enough of them."""
    power = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(power * times for times in DECADE if power * times * TICKS >= high - low)
    return [round(step * times, 12) for times in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... in between, or powers of ten alone where those are too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [times * 10.0**power for power in powers for times in DECADE[:3] if low <= times * 10.0**power <= high]
    return found if len(found) <= 2 * TICKS else [10.0**power for power in powers if low <= 10.0**power <= high]


def _name(run: Run, result: CellResult) -> str:
    return row_title(run, result.cell.adapter, result.cell.variant, result.cell.copy_number)


def _column(result: CellResult) -> str:
    return column_title(result.cell.model, result.cell.batch, result.cell.size)


def ratios(run: Run) -> list[Chart]:
    """Return a chart for each kind of cells: the ratio of every rate to the baseline's, with its 95 % interval."""
    return [chart for kind, results in groups(run).items() if (chart := _ratios(run, kind.title, results)) is not None]


def _ratios(run: Run, title: str, results: list[CellResult]) -> Chart | None:
    found: list[tuple[str, list[tuple[str, Ratio, str]]]] = []
    for _, rivals in separately(results, lambda cell: cell.group):
        base, own = base_of(run, rivals), []
        for rival in rivals:
            measured, said = compared(run, rival, base)
            if measured is not None and rival is not base:
                own.append((_name(run, rival), measured, said))
        if own and base is not None:
            found.append((_column(rivals[0]), own))
    if not found:
        return None
    bounds = [bound for _, own in found for _, one, _ in own for bound in (one.low, one.high)]
    axis = Axis([*bounds, 1.0], logarithmic=True)
    lines: list[Line] = []
    for column, own in found:
        lines.append(Line(column))
        for name, one, said in own:
            text = told(one, said)
            left = axis.place(one.low)
            lines.append(Line(name, (Mark(left, text, axis.place(one.high) - left), Mark(axis.place(one.value), text)), text))
    explained = f"Ratio of rates to {run.titles[run.suite.compared_with]}; right of the line at 1 is faster. Bars: 95 % intervals."
    return Chart(title, explained, axis.ticks(), tuple(lines), axis.place(1.0))


def blocks(run: Run) -> list[Chart]:
    """Return a chart for each group of rivals: every timed block's rate, in the order of time from above."""
    return [chart for _, rivals in separately(run.cells, lambda cell: cell.group) if (chart := _blocks(run, rivals)) is not None]


def _blocks(run: Run, rivals: list[CellResult]) -> Chart | None:
    measured = [rival for rival in rivals if rival.blocks and rival.status.has_number]
    if not measured:
        return None
    cell, axis = measured[0].cell, Axis([block.rate for rival in measured for block in rival.blocks], logarithmic=False)
    unit = MODELS[cell.model].unit
    lines = [Line(_name(run, rival), tuple(_points(rival.blocks, axis, unit)), f"{len(rival.blocks)} blocks") for rival in measured]
    doing = "training" if cell.mode == "train" else "inference"
    title = f"{_column(measured[0])}, {doing}, {cell.precision}, {cell.device}" + (f", {cell.threads} threads" if cell.threads else "")
    explained = f"{unit.capitalize()} per second of every timed block, the first above and the last below."
    return Chart(title, explained, axis.ticks(), tuple(lines))


def _points(timed: Sequence[Block], axis: Axis, unit: str) -> Iterable[Mark]:
    for order, block in enumerate(timed):
        others = "" if not block.others else f"; others used {block.others:.1f} cores"
        says = f"process {block.process + 1}, round {block.round + 1}: {number(block.rate)} {unit}/s, {block.steps} steps{others}"
        yield Mark(axis.place(block.rate), says, height=100 * (order + 0.5) / len(timed))


def latencies(run: Run) -> list[Chart]:
    """Return a chart for each table of latencies: from the median of every cell to its 99th percentile."""
    found = []
    for results in latency.parts(run):
        rows = [(result, statistics) for result in results if (statistics := latency.statistics(result)) is not None]
        if not rows:
            continue
        axis = Axis([1000 * bound for _, one in rows for bound in (one.p50, one.p99)], logarithmic=True)
        lines = []
        for result, one in rows:
            text = f"P50 {number(1000 * one.p50)}, P99 {number(1000 * one.p99)} ms"
            left = axis.place(1000 * one.p50)
            threads = f", {result.cell.threads} threads" if result.cell.threads else ""
            bar = Mark(left, text, axis.place(1000 * one.p99) - left)
            lines.append(Line(f"{_name(run, result)}, batch {result.cell.batch}{threads}", (bar, Mark(left, text)), text))
        found.append(
            Chart(latency.title(results[0].cell), "Milliseconds of a request: from the median to P99.", axis.ticks(), tuple(lines))
        )
    return found
