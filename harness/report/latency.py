"""Tables of the latency protocol: a row for each framework and batch, a table for each model, device and precision."""

from collections.abc import Iterator

from harness.core.models import MODELS
from harness.matrix import Cell
from harness.report.head_to_head import base_of, compare, differences
from harness.report.sheets import Sheet, number, plus_minus, without_empty_last
from harness.report.tables import Notes, column_title, device_line, row_title, separately
from harness.results import Run
from harness.scoring.latency import Latency, latency_statistics, needed, saturation
from harness.statuses import Status
from harness.summary import CellResult

MIB = 2**20
SATURATED = 0.05  # a batch whose throughput is that close to the best is large enough


def sheets(run: Run) -> list[Sheet]:
    """Return the tables of ``run`` in the order of its plan."""
    return [_sheet(run, results) for results in parts(run)]


def parts(run: Run) -> list[list[CellResult]]:
    """Return the cells of each table."""
    return [own for _, own in separately(run.cells, lambda cell: (cell.model, cell.size, cell.device, cell.precision, cell.track))]


def statistics(result: CellResult) -> Latency | None:
    """Return what all timed requests of a cell say together, whichever sweep, repeat or process they belong to."""
    if not result.status.has_number or not result.blocks:
        return None
    return latency_statistics([latency for block in result.blocks for latency in block.latencies], result.cell.batch)


def _sheet(run: Run, results: list[CellResult]) -> Sheet:
    first, unit = results[0].cell, MODELS[results[0].cell.model].unit
    threads = len({result.cell.threads for result in results}) > 1
    compared = len({(r.cell.adapter, r.cell.variant, r.cell.copy_number) for r in results}) > 1
    header = ["framework", *(["threads"] if threads else []), "batch", "requests", f"{unit}/s", "batch / median", "mean ± std, ms"]
    header += ["P50, ms", "P90, ms", "P99, ms (at most)", *memory_columns(first.device), *(["ratio"] if compared else []), "notes"]
    notes, rows = Notes(), []
    bases = {group: base_of(run, rivals) for group, rivals in separately(results, lambda cell: cell.group)}
    for result in results:
        names = [row_title(run, result.cell.adapter, result.cell.variant, result.cell.copy_number)]
        names += [str(result.cell.threads)] if threads else []
        found = statistics(result)
        names += [str(result.cell.batch)]
        if found is None:  # said once, where the first number would stand
            status = str(result.status) if result.status.is_failure else "N/A"
            rows.append((*names, status, *["-"] * (len(header) - len(names) - 2), notes.of(result)))
        else:
            ratio = [_ratio(run, result, bases[result.cell.group])] if compared else []
            rows.append((*names, *_numbers(found), *_memory(result, first.device), *ratio, notes.of(result)))
    shown = without_empty_last(header, rows)
    return Sheet(
        title=title(first),
        header=shown[0],
        rows=shown[1],
        left=3 if threads else 2,
        lines=(*_caption(run, results), *_saturations(run, results, unit), *notes.lines()),
    )


def title(cell: Cell) -> str:
    """The title of the table that ``cell`` stands in."""
    model = column_title(cell.model, 0, cell.size).replace(", batch 0", "")
    track = "" if cell.track == "as-shipped" else f", {cell.track}"
    return f"Latency, {model}, {'inference' if cell.mode == 'infer' else 'training'}, {cell.precision}, {cell.device}{track}"


def _numbers(found: Latency) -> list[str]:
    ms = [number(1000 * value) for value in (found.p50, found.p90, found.p99)]
    bound = "n too small" if found.p99_bound is None else number(1000 * found.p99_bound)
    spread = plus_minus(1000 * found.mean, None if found.std is None else 1000 * found.std)
    return [str(found.requests), number(found.throughput), number(found.throughput_by_median), spread, *ms[:2], f"{ms[2]} ({bound})"]


def memory_columns(device: str) -> list[str]:
    return ["resident, MiB"] if device == "cpu" else ["device, MiB", "allocator, MiB", "resident, MiB"]


def _memory(result: CellResult, device: str) -> list[str]:
    memory = result.memory
    values = [memory.resident] if device == "cpu" else [memory.device, memory.allocated, memory.resident]
    return ["not counted" if value is None else f"{value / MIB:,.0f}" for value in values]


def _ratio(run: Run, result: CellResult, base: CellResult | None) -> str:
    return "1" if base is result else compare(run, result, base)


def _caption(run: Run, results: list[CellResult]) -> Iterator[str]:
    device = results[0].cell.device
    yield device_line(run, device, results)
    measure = run.suite.measure
    yield (
        f"Each request is timed by itself, from its call until the device has finished, inputs resident. In every one of up to "
        f"{measure.sweeps} sweeps, {measure.repeats} times: {measure.warmup_requests} requests of warm-up, {measure.requests} timed; "
        f"a sweep is one visit, and visits of frameworks alternate."
    )
    rate = MODELS[results[0].cell.model].unit
    yield f"{rate}/s = requests x batch / sum of latencies; beside it batch / median, as DEEP-GAP's code has it. Ratios are of {rate}/s."
    most = needed(0.99, 0.95)
    yield f"P99 in brackets: its upper 95 % confidence bound by order statistics, which needs {most} requests."
    sampled = [r.memory for r in results if r.memory.device is not None]
    if sampled:
        counts = sorted(memory.samples for memory in sampled)
        yield (
            f"Device memory: peak in use on the whole GPU by NVML above the baseline before the worker, {counts[0]} to {counts[-1]} "
            f"samples {1000 * sampled[0].interval:g} ms apart; allocator: what the framework's own counter says."
        )
    yield "Resident memory: peak of the worker's process since it was built, reference check apart."
    yield from differences(results)
    yield from (f"Noise before the run: {warning}." for warning in run.noise)


def _saturations(run: Run, results: list[CellResult], unit: str) -> Iterator[str]:
    """A sentence about the sweep over batches of each framework and number of threads."""
    for (adapter, variant, copy, threads), mine in separately(
        results, lambda cell: (cell.adapter, cell.variant, cell.copy_number, cell.threads)
    ):
        speeds = {result.cell.batch: found.throughput for result in mine if (found := statistics(result)) is not None}
        shaky = [str(result.cell.batch) for result in mine if result.status is Status.UNSTABLE]
        if len(speeds) < 2:
            continue
        point = saturation(speeds, SATURATED)
        who = row_title(run, adapter, variant, copy) + (f" on {threads} thread{'' if threads == 1 else 's'}" if threads else "")
        if shaky:
            yield f"{who}: no saturation point is told, since the numbers of batch {', '.join(shaky)} are unstable."
        elif point.reached:
            share = f"{number(point.throughput)} of at best {number(point.best)} {unit}/s"
            yield f"{who}: throughput saturates at batch {point.batch} ({share})."
        else:
            yield f"{who}: not saturated; the largest batch, {point.batch}, is the first within {SATURATED:.0%} of the best."
