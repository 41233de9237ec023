"""Tables of the iterations protocol: counts after each minute, by framework, device and size; a table for each model."""

from collections.abc import Iterator
from itertools import accumulate, pairwise

from harness.core.models import MODELS
from harness.report.head_to_head import differences
from harness.report.sheets import Sheet, number, without_empty_last
from harness.report.tables import Notes, device_line, row_title, separately
from harness.results import Run
from harness.scoring.recipes import calculate_throughput
from harness.summary import CellResult

MINUTE = 60.0
OFF = 0.05  # of an interval: a count that is later than that says when it was taken


def sheets(run: Run) -> list[Sheet]:
    """Return the tables of ``run`` in the order of its plan."""
    parts = separately(run.cells, lambda cell: (cell.model, cell.mode, cell.batch, cell.precision, cell.track))
    return [_sheet(run, results) for _, results in parts]


def per_minute(result: CellResult) -> float | None:
    """Return iterations a minute: the last cumulative count over the time that it took."""
    if not result.status.has_number or not result.blocks:
        return None
    counts, times = _cumulative(result)
    return calculate_throughput(counts, [seconds / MINUTE for seconds in times])


def _cumulative(result: CellResult) -> tuple[list[int], list[float]]:
    return list(accumulate(block.steps for block in result.blocks)), list(accumulate(block.seconds for block in result.blocks))


def _sheet(run: Run, results: list[CellResult]) -> Sheet:
    first, measure = results[0].cell, run.suite.measure
    marks = [_mark((place + 1) * measure.interval_seconds) for place in range(measure.intervals)]
    unit = {"pixels": "px"}.get(MODELS[first.model].size_unit, MODELS[first.model].size_unit)
    rows, notes = [], Notes()
    for result in results:
        cell = result.cell
        names = (row_title(run, cell.adapter, cell.variant, cell.copy_number), cell.device, f"{cell.size} {unit}")
        rate = per_minute(result)
        if rate is None:
            status = "N/A" if not result.status.is_failure else str(result.status)
            rows.append((*names, status, *["-"] * (len(marks) + 1), notes.of(result)))
        else:
            counts = list(_counts(result, measure.interval_seconds))
            counts += ["-"] * (len(marks) - len(counts))
            rows.append((*names, *counts, number(rate), _losses(result), notes.of(result)))
    header, shown = without_empty_last(("framework", "device", "size", *marks, "iterations/min", "loss", "notes"), rows)
    precision = f", {first.precision}, batch {first.batch}" + ("" if first.track == "as-shipped" else f", {first.track}")
    doing = "" if MODELS[first.model].generates else ", training" if first.mode == "train" else ", inference"
    return Sheet(
        title=f"Iterations, {MODELS[first.model].title}{doing}{precision}",
        header=header,
        rows=shown,
        lines=(*_caption(run, results), *_between_sizes(run, results, unit), *_speed_ups(run, results, unit), *notes.lines()),
        left=3,
    )


def _mark(seconds: float) -> str:
    return f"{seconds / MINUTE:g} min" if seconds % MINUTE == 0 else f"{seconds:g} s"


def _counts(result: CellResult, interval: float) -> Iterator[str]:
    for place, (count, elapsed) in enumerate(zip(*_cumulative(result), strict=True), start=1):
        late = elapsed - place * interval > OFF * interval
        yield f"{count:,}" + (f" at {elapsed:.0f} s" if late else "")


def _losses(result: CellResult) -> str:
    first, last = result.losses
    return "-" if first is None or last is None else f"{number(first)} to {number(last)}"


def _caption(run: Run, results: list[CellResult]) -> Iterator[str]:
    for device, mine in separately(results, lambda cell: cell.device):
        yield device_line(run, device, mine)
    interval = run.suite.measure.interval_seconds
    yield f"Cumulative iterations after every {_mark(interval)} of a framework's own time; those of several frameworks alternate."
    if interval != MINUTE:
        yield f"Shortened: the published protocol counts after minutes, this run after {_mark(interval)}."
    yield from differences(results)
    yield from (f"Noise before the run: {warning}." for warning in run.noise)


def _between_sizes(run: Run, results: list[CellResult], unit: str) -> Iterator[str]:
    """How iterations a minute change from each size to the next."""
    rivals = separately(results, lambda cell: (cell.adapter, cell.variant, cell.copy_number, cell.device))
    for (adapter, variant, copy, device), mine in rivals:
        rates = sorted((result.cell.size, rate) for result in mine if (rate := per_minute(result)) is not None)
        steps = [f"{small} to {large} {unit} {before / after:.2f}" for (small, before), (large, after) in pairwise(rates)]
        if steps:
            yield f"{row_title(run, adapter, variant, copy)}, {device}: iterations take longer by a factor of: {', '.join(steps)}."


def _speed_ups(run: Run, results: list[CellResult], unit: str) -> Iterator[str]:
    """How much faster each other device is than the CPU."""
    for (adapter, variant, copy), mine in separately(results, lambda cell: (cell.adapter, cell.variant, cell.copy_number)):
        rates = {(result.cell.device, result.cell.size): rate for result in mine if (rate := per_minute(result)) is not None}
        for device in dict.fromkeys(device for device, _ in rates if device != "cpu"):
            found = [
                f"{size} {unit} {rate / rates['cpu', size]:.3g}"
                for (on, size), rate in rates.items()
                if on == device and ("cpu", size) in rates
            ]
            if found:
                yield f"{row_title(run, adapter, variant, copy)}: {device} is faster than the CPU by a factor of: {', '.join(found)}."
