"""A run as CSV for a spreadsheet or a plot: a line for every cell, whatever its protocol, with full digits."""

from harness.core.models import MODELS
from harness.report import latency
from harness.report.head_to_head import base_of, compared
from harness.report.sheets import comma_separated
from harness.report.tables import separately
from harness.results import Run
from harness.summary import CellResult

NONE = "N/A"  # what is not known, or means nothing here
CELL = ("adapter", "variant", "copy_number", "model", "mode", "device", "precision", "track", "batch", "size")
HEADER = (
    *("framework", "version", *CELL, "threads", "status", "reason"),
    *("rate", "std", "unit", "relative_half_width", "blocks", "steps"),
    *("ratio", "ratio_low", "ratio_high", "verdict"),
    *("latency_mean_ms", "latency_std_ms", "p50_ms", "p90_ms", "p99_ms"),
    *("device_bytes", "allocated_bytes", "resident_bytes", "flags"),
)


def as_csv(run: Run) -> str:
    """Return the cells in the order of the plan. Ratios are to the baseline's cell of the same group, with 95 % intervals."""
    bases = {group: base_of(run, rivals) for group, rivals in separately(run.cells, lambda cell: cell.group)}
    return comma_separated(HEADER, [list(map(_text, _row(run, result, bases[result.cell.group]))) for result in run.cells])


def _row(run: Run, result: CellResult, base: CellResult | None) -> list[object]:
    cell, ledger, memory = result.cell, result.ledger, result.memory
    named = [run.titles[cell.adapter], ledger.get("version"), *(getattr(cell, field) for field in CELL), cell.threads or run.threads]
    rate = result.rate if result.status.has_number else None
    speed = [None] * 6 if rate is None else [rate.mean, rate.std, f"{MODELS[cell.model].unit}/s", rate.half_width, rate.blocks, rate.steps]
    return [
        *(*named, result.status, result.reason or None, *speed, *_ratio(run, result, base), *_latency(run, result)),
        *(memory.device, memory.allocated, memory.resident, "; ".join(result.flags) or None),
    ]


def _ratio(run: Run, result: CellResult, base: CellResult | None) -> list[object]:
    found, said = (None, "baseline") if result is base else compared(run, result, base)
    return [None, None, None, said] if found is None else [found.value, found.low, found.high, said]


def _latency(run: Run, result: CellResult) -> list[object]:
    found = latency.statistics(result) if run.suite.protocol == "latency" else None
    if found is None:
        return [None] * 5
    return [None if seconds is None else 1000 * seconds for seconds in (found.mean, found.std, found.p50, found.p90, found.p99)]


def _text(value: object) -> str:
    return NONE if value is None else str(value)
