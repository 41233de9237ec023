"""What the number of a cell rests on, in sentences."""

from statistics import median, stdev

from harness.core.models import MODELS
from harness.report.tables import plus_minus
from harness.summary import CellResult


def facts(result: CellResult) -> list[str]:
    """Return a line for each of: rate, steps, processes, memory, proofs, settings; only what is known."""
    found: list[str] = []
    if result.rate is not None and result.status.has_number:
        rate = result.rate
        found.append(f"{plus_minus(rate)} {MODELS[result.cell.model].unit}/s, 95 % interval ± {rate.half_width:.1%}")
        found.append(f"{rate.steps} steps in {rate.blocks} blocks; CPU time / wall time {result.cpu_per_wall:.2f}")
    by_process: dict[int, list[float]] = {}
    for block in result.blocks:
        by_process.setdefault(block.process, []).append(block.rate)
    if len(by_process) > 1:
        medians = [median(rates) for rates in by_process.values()]
        apart = stdev(medians) / median(medians)
        found.append(
            f"median rates of its processes {', '.join(f'{rate:,.4g}' for rate in medians)}: a spread of {apart:.1%} between processes"
        )
    if result.first_step_seconds is not None:
        found.append(f"building and first step {result.first_step_seconds:.1f} s")
    if result.memory.resident is not None:
        since = "" if result.rss_since_build else ", proofs included"
        found.append(f"peak resident memory of the worker {result.memory.resident / 2**20:,.0f} MiB{since}")
    for check in result.checks:
        error = "not finite" if check.error is None else f"{check.error:.1e}"
        found.append(f"{'passed' if check.passed else 'FAILED'}: {check.what}: relative error {error}, limit {check.limit:.0e}")
    if result.ledger:
        found.append("; ".join(f"{name} {value}" for name, value in result.ledger.items()))
    return found
