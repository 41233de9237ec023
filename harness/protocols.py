"""What a round of measuring is, by protocol. The rest (proofs, warm-up, alternation, journal) is the same for all.

Every round leaves blocks in the journal, so rates, ratios, flags and verdicts do not depend on the protocol either.
"""

from collections.abc import Callable
from typing import Protocol

from harness.config import Measure, Suite
from harness.rival import Rival
from harness.stats import precision

LONG_STEP = 1.0  # seconds, beside which the milliseconds of a cold start are nothing
FEWEST_BLOCKS = 3  # whatever the budget: fewer have no spread worth printing


class Rounds(Protocol):
    """How a rival is measured."""

    def turn(self, rival: Rival, number: int, alive: int) -> None:
        """Measure ``rival`` in round ``number``, with ``alive`` workers on the host, this one included."""

    def has_budget(self, rival: Rival) -> bool:
        """Whether ``rival`` may have one more turn."""

    def is_done(self, rival: Rival) -> bool:
        """Whether its turns so far are enough."""


def rounds(suite: Suite) -> Rounds:
    """Return the way that ``suite`` measures."""
    ways: dict[str, Callable[[Measure], Rounds]] = {"throughput": Throughput, "latency": Latency, "iterations": Iterations}
    return ways[suite.protocol](suite.measure)


class Throughput:
    """Steps back to back, in blocks, until the rate is precise enough."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure

    def turn(self, rival: Rival, number: int, alive: int) -> None:
        settle(rival)
        rival.timed_block({"do": "block", "steps": rival.steps}, rival.steps, round=number, alive=alive)
        rival.refit(self.measure.block_seconds)

    def has_budget(self, rival: Rival) -> bool:
        """The fewest always, then as time and number allow."""
        if len(rival.timed) < min(FEWEST_BLOCKS, self.measure.blocks):
            return True
        return len(rival.timed) < self.measure.most and affordable(rival, len(rival.timed), self.measure)

    def is_done(self, rival: Rival) -> bool:
        """As many as asked for, and they tell the rate as precisely as asked for."""
        if len(rival.timed) < self.measure.blocks:
            return False
        return precision(rival.rates) <= self.measure.target


class Latency:
    """Each step timed by itself, as DEEP-GAP (arXiv 2604.14552) does: in every sweep some repeats of a warm-up and timed requests.

    A sweep is one visit here. The paper's code goes through all batches in each, in one process; then the memory of a batch
    is that of the largest one so far.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure

    def turn(self, rival: Rival, number: int, alive: int) -> None:
        sweep = self._sweeps(rival)
        for repeat in range(self.measure.repeats):
            if self.measure.warmup_requests:
                rival.block({"do": "requests", "steps": self.measure.warmup_requests}, self.measure.warmup_requests, "warm-up")
            asked = {"do": "requests", "steps": self.measure.requests}
            place = {"round": number * self.measure.repeats + repeat, "sweep": sweep, "repeat": repeat}
            rival.timed_block(asked, self.measure.requests, alive=alive, **place)

    def has_budget(self, rival: Rival) -> bool:
        """Sweeps as asked for, fewer where time is up."""
        return not rival.timed or (not self.is_done(rival) and affordable(rival, self._sweeps(rival), self.measure))

    def is_done(self, rival: Rival) -> bool:
        return self._sweeps(rival) >= self.measure.sweeps

    def _sweeps(self, rival: Rival) -> int:
        return len(rival.timed) // self.measure.repeats


class Iterations:
    """Iterations counted after each minute, as Kawahata did (arXiv 2109.05783). Minutes of rivals alternate."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure

    def turn(self, rival: Rival, number: int, alive: int) -> None:
        settle(rival)
        expected = max(1, int(self.measure.interval_seconds / rival.step_seconds))
        rival.timed_block({"do": "span", "seconds": self.measure.interval_seconds}, expected, round=number, alive=alive)

    def has_budget(self, rival: Rival) -> bool:
        return not self.is_done(rival)

    def is_done(self, rival: Rival) -> bool:
        return len(rival.timed) >= self.measure.intervals


def settle(rival: Rival) -> None:
    """Run a step that does not count: caches and thread pools are cold after a stop."""
    if rival.step_seconds < LONG_STEP:
        rival.block({"do": "block", "steps": 1}, 1, "settle")


def affordable(rival: Rival, turns: int, measure: Measure) -> bool:
    """Whether one more turn like those so far stays within the cell's time."""
    spent = sum(rival.timed)
    return spent + spent / turns <= measure.cell_seconds
