"""How much faster one framework is than another, and how sure that is. Pure functions of paired rates.

Both frameworks of a pair ran in the same round of blocks, so that a machine that drifts moved both. The statistics are of
the logarithm of each pair's ratio, where "twice" and "half" lie equally far from "same".

One worker process each: the Hodges-Lehmann estimate (the median of all pairwise means) with the interval that inverts
Wilcoxon's signed-rank test (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, section 3.2 and 3.3). It
assumes only that a pair's error is as likely up as down, so its coverage holds at eight blocks and with spikes, where
bootstrap intervals are too short (docs/results/calibration.md compares them). Fewer than six pairs cannot give 95 % that
way, and several processes have an error of their own: there, Student's t on the pairs or on the processes' estimates.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
FEWEST_SIGNED_RANK = 6  # the smallest number of pairs whose widest interval reaches LEVEL

Pair = tuple[float, float]


class Ratio(NamedTuple):
    """The first framework's rate over the second's, with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float
    pairs: int
    processes: int = 1

    @property
    def half_width(self) -> float:
        """Half the interval's length relative to the value, as the ratio's logarithm has it."""
        return math.log(self.high / self.low) / 2


class Verdict(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


def ratio(processes: Sequence[Sequence[Pair]]) -> Ratio | None:
    """Return the ratio of the pairs' first rate to their second, or None where there is no interval.

    ``processes`` has the pairs of each pair of worker processes. One alone needs two pairs or more.
    """
    logs = [np.array([math.log(a / b) for a, b in pairs]) for pairs in processes if pairs]
    count = sum(map(len, logs))
    if not logs or count < 2:
        return None
    if len(logs) > 1:
        center, low, high = _student(np.array([_median_of_means(part) for part in logs]))
    elif count < FEWEST_SIGNED_RANK:
        center, low, high = _student(logs[0])
    else:
        center, low, high = _signed_rank(logs[0])
    return Ratio(math.exp(center), math.exp(low), math.exp(high), count, len(logs))


def verdict(found: Ratio, margin: float) -> Verdict:
    """Say what the interval says. "Same" is within ``margin`` (0.01 is one per cent) for certain, not for want of data."""
    if found.low > 1 / (1 + margin) and found.high < 1 + margin:
        return Verdict.SAME
    if found.low > 1:
        return Verdict.FASTER
    if found.high < 1:
        return Verdict.SLOWER
    return Verdict.UNDECIDED


def _student(values: np.ndarray) -> tuple[float, float, float]:
    center = float(values.mean())
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
    return center, center - reach, center + reach


def _walsh(values: np.ndarray) -> np.ndarray:
    """The means of all pairs of values, each with itself too, in order."""
    rows, columns = np.triu_indices(len(values))
    means: np.ndarray = np.sort((values[rows] + values[columns]) / 2)
    return means


def _median_of_means(values: np.ndarray) -> float:
    return float(np.median(_walsh(values)))


def _signed_rank(values: np.ndarray) -> tuple[float, float, float]:
    means = _walsh(values)
    place = _place(len(values))
    return float(np.median(means)), float(means[place - 1]), float(means[-place])


def _place(pairs: int) -> int:
    """Which mean, counted from each end, bounds the interval: the largest k with P(signed-rank sum < k) at most (1 - LEVEL) / 2.

    The sum's exact distribution counts, for every sum, the subsets of the ranks 1 to n that have it.
    """
    counts = np.ones(1)
    for rank in range(1, pairs + 1):
        grown = np.zeros(len(counts) + rank)
        grown[: len(counts)] += counts / 2
        grown[rank:] += counts / 2
        counts = grown
    return int(np.searchsorted(np.cumsum(counts), (1 - LEVEL) / 2, side="right"))
