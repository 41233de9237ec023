"""How much faster one framework is than another, and how sure that is. Pure functions of paired rates.

Both frameworks of a pair ran in the same round of blocks, so that a machine that drifts moved both. The statistics are of
the logarithm of each pair's ratio, where "twice" and "half" lie equally far from "same".
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from harness.stats import centre, location, student

Pair = tuple[float, float]


class Ratio(NamedTuple):
    """The first framework's rate over the second's, with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float
    pairs: int
    processes: int = 1


class Verdict(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


class Timed(Protocol):
    """What a block must tell. Properties, so that immutable records fit."""

    @property
    def process(self) -> int: ...
    @property
    def round(self) -> int: ...
    @property
    def rate(self) -> float: ...


def paired(ours: Sequence[Timed], theirs: Sequence[Timed]) -> list[list[Pair]]:
    """Return the rates of blocks that ran in the same round, process by process. What has no neighbour is left out."""
    other = {(block.process, block.round): block.rate for block in theirs}
    pairs: dict[int, list[Pair]] = {}
    for block in ours:
        if (block.process, block.round) in other:
            pairs.setdefault(block.process, []).append((block.rate, other[block.process, block.round]))
    return list(pairs.values())


def ratio(processes: Sequence[Sequence[Pair]]) -> Ratio | None:
    """Return the ratio of the pairs' first rates to their second, or None where there are too few for an interval.

    ``processes`` has the pairs of each pair of worker processes. With one, the interval is that of its pairs; with
    several, processes have an error of their own, and it is Student's on their estimates.
    """
    logs = [[math.log(a / b) for a, b in pairs] for pairs in processes if pairs]
    count = sum(map(len, logs))
    if count < 2:
        return None
    value, low, high = map(math.exp, location(logs[0]) if len(logs) == 1 else student(list(map(centre, logs))))
    return Ratio(value, low, high, count, len(logs))


def verdict(found: Ratio, margin: float) -> Verdict:
    """Say what the interval says: faster or slower by more than ``margin`` (0.01 is one per cent), the same within it, or neither.

    A difference within the margin is none: where processes lie in memory makes as much of one, and that no interval of one
    pair of processes knows. A table has dozens of verdicts, and so few of them are false by chance.
    """
    least, most = 1 / (1 + margin), 1 + margin
    if found.low > least and found.high < most:
        return Verdict.SAME
    if found.low >= most:
        return Verdict.FASTER
    if found.high <= least:
        return Verdict.SLOWER
    return Verdict.UNDECIDED
