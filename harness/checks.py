"""The judgement of a cell that was measured to its end: may its number be printed, and may it be ranked?"""

from collections.abc import Sequence
from typing import Protocol

from harness.config import Measure
from harness.stats import Rate
from harness.statuses import Status


class Comparison(Protocol):
    """What a parity check must tell. Properties, so that immutable records fit."""

    @property
    def what(self) -> str: ...
    @property
    def error(self) -> float | None: ...
    @property
    def limit(self) -> float: ...
    @property
    def worst(self) -> str: ...
    @property
    def passed(self) -> bool: ...


def first_failure(checks: Sequence[Comparison]) -> str | None:
    """Return a sentence about the first comparison that failed."""
    for check in checks:
        if not check.passed:
            error = "not finite" if check.error is None else f"{check.error:.1e}"
            place = f" in {check.worst}" if check.worst else ""
            return f"{check.what}: relative error {error}{place}, limit {check.limit:.0e}"
    return None


def first_share(checks: Sequence[Comparison]) -> str | None:
    """Return a sentence about the first check of a sync proof that failed: its numbers are shares of the steps' time."""
    for check in checks:
        if not check.passed:
            share = "not finite" if check.error is None else f"{check.error:.0%}"
            return f"{check.what}: {share} of it, limit {check.limit:.0%} ({check.worst})"
    return None


def judge(checks: Sequence[Comparison], rate: Rate, finite: bool, measure: Measure) -> tuple[Status, str]:
    """Return the status and its reason: parity-failed, unstable or ok."""
    failure = first_failure(checks) if checks else "nothing was compared with the reference"
    if failure:
        return Status.PARITY_FAILED, failure
    if not finite:
        return Status.PARITY_FAILED, "outputs or loss were no longer finite after the timed steps"
    spread = rate.std / rate.mean
    if spread > measure.unstable_above:
        return (
            Status.UNSTABLE,
            f"standard deviation is {spread:.0%} of the mean over {rate.blocks} blocks (limit {measure.unstable_above:.0%})",
        )
    return Status.OK, ""
