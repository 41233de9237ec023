"""Blemishes of a measured cell, each with the number that raised it. Samples are never thrown away: readers are told.

Pure functions of what the journal holds.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

TREND_LEVEL = 0.01  # chance at which a rank correlation of rate and time passes for a trend
TREND_LEAST = 0.02  # relative change from first to last block below which a trend is not worth a word
FOREIGN_CORES = 0.1  # used by others: what an idle system's own daemons stay below
OUTLIER = 2.0  # times the median block: what one recompilation or a stall of the host leaves behind
PROCESSES_APART = 0.05  # relative distance of the slowest from the fastest process
OVER_GRANTED = 1.05  # CPU time over wall time, relative to the threads granted
TOO_SHORT = 10e-6  # seconds: below ten microseconds the loop's and the call's own time shows (scripts/loop-overhead)
SUBNORMALS = 1e-3  # share of the numbers that a session ends with


class Timed(Protocol):
    """What a block must tell. Properties, so that immutable records fit."""

    @property
    def process(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def others(self) -> float | None: ...
    @property
    def throttled(self) -> tuple[str, ...]: ...
    @property
    def gpu_processes(self) -> int: ...


class Facts(NamedTuple):
    """``sessions`` are the "built" and "finished" events, each process's in this order."""

    blocks: Sequence[Timed]
    cpu_per_wall: float
    threads: int
    sessions: Sequence[dict[str, Any]]
    step_seconds: float
    warm_ups: Sequence[dict[str, Any]] = ()  # the "warmed-up" events
    rivals: int = 1  # workers of this run that were alive together
    alone: bool = False  # whether it was measured apart from its rivals
    resumed: bool = False  # whether it was measured when the run was resumed


def raised(facts: Facts) -> tuple[str, ...]:
    """Return a sentence for every blemish."""
    return tuple(flag for look in LOOKS for flag in look(facts))


def _rates(facts: Facts) -> dict[int, list[float]]:
    """Rates by process, in the order of time."""
    rates: dict[int, list[float]] = {}
    for block in facts.blocks:
        rates.setdefault(block.process, []).append(block.rate)
    return rates


def _alone(facts: Facts) -> Iterator[str]:
    if facts.alone:
        yield "measured alone, since memory did not hold all rivals at once: it has no ratios"


def _resumed(facts: Facts) -> Iterator[str]:
    if facts.resumed:
        yield "measured when the run was resumed: it has ratios to those alone that were measured with it"


def _unsteady(facts: Facts) -> Iterator[str]:
    for event in facts.warm_ups:
        if not event["steady"]:
            spread = "too few steps to tell" if event["spread"] is None else f"they differed by {event['spread']:.1%}"
            yield f"not steady after {event['steps']} steps of warm-up ({event['seconds']:.1f} s): {spread}"


def _trend(facts: Facts) -> Iterator[str]:
    """A rank test (Kendall), since one slow block at the end is no trend."""
    from scipy.stats import kendalltau

    for process, rates in _rates(facts).items():
        if len(rates) < 5 or len(set(rates)) == 1:
            continue
        found = kendalltau(range(len(rates)), rates)
        third = max(1, len(rates) // 3)
        change = np.median(rates[-third:]) / np.median(rates[:third]) - 1
        if found.pvalue < TREND_LEVEL and abs(change) > TREND_LEAST:
            tau = f"tau {found.statistic:.2f}{_of_process(process, facts)}"
            yield f"trend: the rate changed by {change:+.1%} from the first to the last blocks ({tau})"


def _outliers(facts: Facts) -> Iterator[str]:
    for process, rates in _rates(facts).items():
        median = float(np.median(rates))
        slow = [number for number, rate in enumerate(rates, start=1) if rate * OUTLIER < median]
        if slow:
            which = f"{', '.join(map(str, slow))} of {len(rates)}{_of_process(process, facts)}"
            yield f"outlier: block {which} took up to {median / min(rates):.1f} times the median"


def _of_process(process: int, facts: Facts) -> str:
    return f" of process {process + 1}" if len(_rates(facts)) > 1 else ""


def _processes(facts: Facts) -> Iterator[str]:
    centres = [float(np.median(rates)) for rates in _rates(facts).values()]
    if len(centres) > 1 and max(centres) / min(centres) - 1 > PROCESSES_APART:
        yield f"processes differ: the fastest of {len(centres)} is {max(centres) / min(centres) - 1:.1%} above the slowest"


def _foreign(facts: Facts) -> Iterator[str]:
    busy = [block.others for block in facts.blocks if block.others is not None and block.others > FOREIGN_CORES]
    if busy:
        yield f"noise: others used up to {max(busy):.1f} cores during {len(busy)} of {len(facts.blocks)} blocks"


def _gpu(facts: Facts) -> Iterator[str]:
    throttled = [block for block in facts.blocks if block.throttled]
    if throttled:
        reasons = ", ".join(dict.fromkeys(reason for block in throttled for reason in block.throttled))
        yield f"throttled: the GPU lowered its clock in {len(throttled)} of {len(facts.blocks)} blocks ({reasons})"
    crowd = max((block.gpu_processes for block in facts.blocks), default=0)
    if crowd > 1 and facts.rivals < crowd:
        yield f"noise: {crowd} processes were on the GPU, {facts.rivals} of them this run's"


def _cores(facts: Facts) -> Iterator[str]:
    taken = max((finished.get("cpus") or 0 for finished in facts.sessions[1::2]), default=0)
    if taken > facts.threads:
        yield f"cores: it gave itself {taken} CPUs, {facts.threads} were granted"
    if facts.cpu_per_wall > OVER_GRANTED * facts.threads:
        yield f"cores: {facts.cpu_per_wall:.1f} were in use, {facts.threads} were granted"


def _short(facts: Facts) -> Iterator[str]:
    if facts.step_seconds < TOO_SHORT:
        yield f"too short: a step takes {facts.step_seconds * 1e6:.2f} microseconds, in which the loop's own time shows"


def _sessions(facts: Facts) -> Iterator[str]:
    """What changed between a session's first and last step, or should have."""
    for built, finished in zip(facts.sessions[::2], facts.sessions[1::2], strict=False):
        before, after = built.get("ledger", {}), finished.get("ledger")
        if after is not None:
            changed = [f"{name} from {before[name]} to {after[name]}" for name in before if name in after and before[name] != after[name]]
            if changed:
                yield f"settings changed while timed: {'; '.join(changed)}"
        loss, last = built.get("loss"), finished.get("loss")
        if loss is not None and loss == last:
            yield f"training does nothing: the loss was {loss:g} in the first step and is in the last"
        share = finished.get("subnormals", 0.0)
        if not math.isnan(share) and share > SUBNORMALS:
            yield f"subnormals: {share:.1%} of the numbers that the session ended with, which slows CPUs"


LOOKS = (_alone, _resumed, _unsteady, _trend, _outliers, _processes, _foreign, _gpu, _cores, _short, _sessions)
