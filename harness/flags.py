"""Blemishes of a measured cell, each with the number that raised it. Samples are never thrown away: readers are told.

Pure functions of what the journal holds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple, Protocol

from harness import ratios
from harness.events import Built, Finished, WarmedUp
from harness.stats import kendall

TREND_LEVEL = 0.01  # chance at which a rank correlation of rate and time passes for a trend
TREND_LEAST = 0.02  # relative change from first to last block below which a trend is not worth a word
FOREIGN_CORES = 0.1  # used by others: what an idle system's own daemons stay below
OUTLIER = 2.0  # times the median block: what one recompilation or a stall of the host leaves behind
PROCESSES_APART = 0.05  # relative distance of the slowest from the fastest process
OVER_GRANTED = 1.05  # CPU time over wall time, relative to the threads granted
TOO_SHORT = 10e-6  # seconds: below ten microseconds the loop's and the call's own time shows (scripts/loop-overhead)
SUBNORMALS = 1e-3  # share of the numbers that a session ends with


class Timed(ratios.Timed, Protocol):
    """What a block must tell here."""

    @property
    def others(self) -> float | None: ...
    @property
    def throttled(self) -> tuple[str, ...]: ...
    @property
    def gpu_processes(self) -> int: ...


class Session(NamedTuple):
    """How a process's session began and how it ended, with its ledger at both times. An older run's has an empty one at the end."""

    built: Built
    finished: Finished
    before: dict[str, Any]
    after: dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """What a cell's events tell, session by session."""

    blocks: Sequence[Timed]
    cpu_per_wall: float
    threads: int
    sessions: Sequence[Session]
    step_seconds: float
    warm_ups: Sequence[WarmedUp] = ()
    rivals: int = 1  # workers of this run that were alive together
    alone: str | None = None  # what it failed of beside its rivals, if it was measured apart from them; empty if it was not tried
    resumed: bool = False  # whether it was measured when the run was resumed

    @cached_property
    def rates(self) -> dict[int, list[float]]:
        """Rates by process, in the order of time."""
        found: dict[int, list[float]] = {}
        for block in self.blocks:
            found.setdefault(block.process, []).append(block.rate)
        return found


def raised(facts: Facts) -> tuple[str, ...]:
    """Return a sentence for every blemish."""
    return tuple(flag for look in LOOKS for flag in look(facts))


def _alone(facts: Facts) -> Iterator[str]:
    if facts.alone is not None:
        why = f" ({facts.alone})" if facts.alone else ""
        yield f"measured alone, since memory did not hold all rivals at once{why}: it has no ratios"


def _resumed(facts: Facts) -> Iterator[str]:
    if facts.resumed:
        yield "measured when the run was resumed: it has ratios to those alone that were measured with it"


def _unsteady(facts: Facts) -> Iterator[str]:
    for event in facts.warm_ups:
        if not event.steady:
            spread = "too few to tell" if event.spread is None else f"the last windows vary by {event.spread:.1%}"
            yield f"not steady after {event.steps} steps before timing, proofs included ({event.seconds:.1f} s): {spread}"


def _trend(facts: Facts) -> Iterator[str]:
    """A rank test (Kendall), since one slow block at the end is no trend."""
    for process, rates in facts.rates.items():
        if len(rates) < 5 or max(rates) <= (1 + TREND_LEAST) * min(rates):
            continue
        third = len(rates) // 3
        change = median(rates[-third:]) / median(rates[:third]) - 1
        if abs(change) <= TREND_LEAST:
            continue
        tau, chance = kendall(rates)
        if chance < TREND_LEVEL:
            shown = f"tau {tau:.2f}{_of_process(process, facts)}"
            yield f"trend: the rate changed by {change:+.1%} from the first to the last blocks ({shown})"


def _outliers(facts: Facts) -> Iterator[str]:
    for process, rates in facts.rates.items():
        if min(rates) * OUTLIER >= max(rates):
            continue
        middle = median(rates)
        slow = [number for number, rate in enumerate(rates, start=1) if rate * OUTLIER < middle]
        if slow:
            which = f"{', '.join(map(str, slow))} of {len(rates)}{_of_process(process, facts)}"
            yield f"outlier: block {which} took up to {middle / min(rates):.1f} times the median"


def _of_process(process: int, facts: Facts) -> str:
    return f" of process {process + 1}" if len(facts.rates) > 1 else ""


def _processes(facts: Facts) -> Iterator[str]:
    centres = [median(rates) for rates in facts.rates.values()] if len(facts.rates) > 1 else [1.0]
    if max(centres) / min(centres) - 1 > PROCESSES_APART:
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
    crowd = max([block.gpu_processes for block in facts.blocks], default=0)
    if crowd > 1 and facts.rivals < crowd:
        yield f"noise: {crowd} processes were on the GPU, {facts.rivals} of them this run's"


def _cores(facts: Facts) -> Iterator[str]:
    taken = max((session.finished.cpus or 0 for session in facts.sessions), default=0)
    if taken > facts.threads:
        yield f"cores: it gave itself {taken} CPUs, {facts.threads} were granted"
    if facts.cpu_per_wall > OVER_GRANTED * facts.threads:
        yield f"cores: {facts.cpu_per_wall:.1f} were in use, {facts.threads} were granted"


def _short(facts: Facts) -> Iterator[str]:
    if facts.step_seconds < TOO_SHORT:
        yield f"too short: a step takes {facts.step_seconds * 1e6:.2f} microseconds, in which the loop's own time shows"


def _sessions(facts: Facts) -> Iterator[str]:
    """What changed between a session's first and last step, or should have."""
    for built, finished, before, after in facts.sessions:
        changed = [name for name in before if name in after and before[name] != after[name]] if before is not after else []
        if changed:
            yield f"settings changed while timed: {'; '.join(f'{name} from {before[name]} to {after[name]}' for name in changed)}"
        if built.loss is not None and built.loss == finished.loss:
            yield f"training does nothing: the loss was {built.loss:g} in the first step and is in the last"
        if finished.subnormals > SUBNORMALS:
            yield f"subnormals: {finished.subnormals:.1%} of the numbers that the session ended with, which slows CPUs"


LOOKS = (_alone, _resumed, _unsteady, _trend, _outliers, _processes, _foreign, _gpu, _cores, _short, _sessions)
