"""Sync proof: after ``sync_device`` nothing of the queued steps may be left to do.

Steps are queued, synced, and then results are read. Where the sync waits, reading takes the same time however many steps
were queued; where it does not, the reading waits instead, and its time grows with their number. And since a step is a
step, twice as many must take about twice as long until the sync returns.
"""

import time
from typing import Any, Callable, Dict, List, NamedTuple

from harness.core.conformance.checks import Check
from harness.core.plugin import Hooks

FEW, MANY = 8, 64
BUDGET = 1.0  # seconds that the largest number of steps should take at most: slow models are proved with two
READINGS = 10  # the steps should take that many times as long as reading, or its noise would pass for work left over
TRIES, MOST_TRIES = 3, 20  # the fastest counts: other work on the host only ever adds
PATIENCE = 2.0  # seconds up to which short proofs are tried more than three times: an honest sync on a busy host deserves it
# Share of the steps' time that may be left after the sync. A sync that waits leaves none; one that does not, all of it.
LEFT_OVER = 0.2
# By how much the time of twice the steps may fall short of twice the time, relative to it. More is drift, which is another flag.
SHORTFALL = 0.3


class Timing(NamedTuple):
    """Seconds from the first step to the sync's return, and those of reading results after it."""

    synced: float
    reading: float


class Proof(NamedTuple):
    """The checks, and the timings by number of steps that they rest on. ``steps`` were run in all."""

    checks: List[Check]
    timings: Dict[int, Timing]
    steps: int


def prove(
    hooks: Hooks, session: Any, staged: Any, step: Callable[[Any, Any], None], clock: Callable[[], float] = time.perf_counter
) -> Proof:
    """Time 1, a few and many steps, again where a check fails, and compare the best timings."""
    done = 0

    def measure(steps: int) -> Timing:
        nonlocal done
        hooks.sync_device(session)
        start = clock()
        for _ in range(steps):
            step(session, staged)
        hooks.sync_device(session)
        synced = clock()
        hooks.read_results(session)
        done += steps
        return Timing(synced - start, clock() - synced)

    measure(1)  # the second step of a session may still compile or allocate
    one = measure(1)
    timings = {1: one}
    start = clock()
    for attempt in range(MOST_TRIES):
        for steps in _counts(one) if attempt == 0 else [1, *_counts(one)]:
            again = measure(steps)
            before = timings.get(steps, again)
            timings[steps] = Timing(min(again.synced, before.synced), min(again.reading, before.reading))
        checks = _checks(timings)
        if all(check.passed for check in checks) or (attempt + 1 >= TRIES and clock() - start > PATIENCE):
            break
    return Proof(checks, timings, done)


def _counts(one: Timing) -> List[int]:
    """The numbers of steps to try besides 1, in order; the last is twice the one before, or they are 2 alone."""
    whole = max(sum(one), 1e-7)  # the step is in it, whether the sync waited or the reading
    wanted = max(MANY, int(READINGS * one.reading / max(one.synced, 1e-7)))
    most = max(2, min(wanted, int(BUDGET / whole)) // 2 * 2)
    return sorted({min(FEW, most // 2), most // 2, most} - {1})


def _checks(timings: Dict[int, Timing]) -> List[Check]:
    most = max(timings)
    longest, half, one = timings[most], timings[most // 2], timings[1]
    work = sum(longest) - sum(one)
    left = (longest.reading - one.reading) / work if work > 0 else float("inf")
    grown = longest.synced / max(2 * half.synced, 1e-9)
    return [
        Check("time left after sync", max(0.0, left), LEFT_OVER, "%d steps" % most),
        Check("time that twice the steps do not take", max(0.0, 1 - grown), SHORTFALL, "%d steps" % most),
    ]
