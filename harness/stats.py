"""Statistics of a cell's blocks. Pure functions of recorded samples.

Plain Python for few values, since a run may have many cells of ten blocks each, for which numpy takes ten times as long.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95
FEWEST = math.ceil(1 - math.log2(1 - LEVEL))  # values that the signed-rank test needs for it: all of their 2 ** n signs but two
FEW = 20  # values up to which plain Python is faster than numpy


class Rate(NamedTuple):
    """Work a second, in images, tokens or samples.

    ``mean`` is all work over all time; ``std`` the standard deviation of the blocks' own rates.
    """

    mean: float
    std: float
    blocks: int
    steps: int
    half_width: float = math.inf  # of the 95 % interval of a block's rate, relative


def rate(steps: Sequence[int], seconds: Sequence[float], work: int) -> Rate:
    """Return the rate of blocks of ``steps`` steps, each worth ``work``, that took ``seconds``.

    The mean weighs each block by its time, so it is the rate that a long run would have shown; the deviation is the
    sample standard deviation (n - 1) over blocks. Raises ``ValueError`` for fewer than two blocks or times that are
    not positive: no spread, no number.
    """
    if len(steps) != len(seconds) or len(steps) < 2 or min(seconds) <= 0:
        raise ValueError("a rate needs two or more blocks with positive times")
    rates = [count * work / time for count, time in zip(steps, seconds, strict=True)]
    middle = math.fsum(rates) / len(rates)
    std = math.sqrt(math.fsum((one - middle) ** 2 for one in rates) / (len(rates) - 1))
    if min(rates) <= 0 or not math.isfinite(std):
        raise ValueError("a rate is finite and above zero")
    return Rate(sum(steps) * work / math.fsum(seconds), std, len(steps), sum(steps), precision(rates))


def precision(rates: Sequence[float]) -> float:
    """Return half the 95 % interval of the rates' centre, relative to it; infinite for fewer than two."""
    if len(rates) < 2:
        return math.inf
    low, high = location(list(map(math.log, rates)))[1:]
    return (high - low) / 2


def location(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the centre of ``values`` and the bounds of its interval.

    The Hodges-Lehmann estimate (the median of all pairwise means) with the interval that inverts Wilcoxon's signed-rank
    test (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, sections 3.2 and 3.3). It assumes only that
    errors are as likely up as down, so its coverage holds for few values and with spikes, where bootstrap intervals are
    too short (docs/results/calibration.md). Fewer than six cannot give 95 % that way: there, Student's t.
    """
    return signed_rank(values) if len(values) >= FEWEST else student(values)


def student(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and the bounds of Student's interval."""
    middle = math.fsum(values) / len(values)
    std = math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
    reach = _t(len(values) - 1) * std / math.sqrt(len(values))
    return middle, middle - reach, middle + reach


@cache
def _t(freedom: int) -> float:
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def signed_rank(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate and the bounds of its interval, for ``FEWEST`` values or more."""
    means, place = _pairwise_means(values), _place(len(values))
    return _median(means), means[place - 1], means[-place]


def centre(values: Sequence[float]) -> float:
    """Return the Hodges-Lehmann estimate alone, for any number of values."""
    return _median(_pairwise_means(values))


def _pairwise_means(values: Sequence[float]) -> list[float]:
    """The means of all pairs of values, each with itself too, in order."""
    if len(values) > FEW:
        rows, columns = np.triu_indices(len(values))
        many = np.asarray(values)
        found: list[float] = np.sort((many[rows] + many[columns]) / 2).tolist()
        return found
    return sorted([(one + other) / 2 for place, one in enumerate(values) for other in values[place:]])


def _median(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


@cache
def _place(count: int) -> int:
    """Which mean, counted from each end, bounds the interval: the largest k with P(signed-rank sum < k) at most (1 - LEVEL) / 2.

    The sum's exact distribution counts, for every sum, the subsets of the ranks 1 to n that have it.
    """
    shares = np.ones(1)
    for rank in range(1, count + 1):
        grown = np.zeros(len(shares) + rank)
        grown[: len(shares)] += shares / 2
        grown[rank:] += shares / 2
        shares = grown
    return int(np.searchsorted(np.cumsum(shares), (1 - LEVEL) / 2, side="right"))


def kendall(values: Sequence[float]) -> tuple[float, float]:
    """Return Kendall's tau of ``values`` and their places, and the chance of one so far from 0 in a random order.

    A pair of equal values counts half for each side. The distribution is exact (Hollander, Wolfe and Chicken, section 8.1).
    """
    pairs = len(values) * (len(values) - 1) / 2
    falling = sum([(one > other) + (one == other) / 2 for place, one in enumerate(values) for other in values[place + 1 :]])
    return 1 - 2 * falling / pairs, _chance(len(values), math.ceil(min(falling, pairs - falling)))


@cache
def _chance(count: int, falling: int) -> float:
    """How many of all orders of ``count`` values have at most ``falling`` pairs that fall, or at most so many that rise."""
    shares = np.ones(1)
    for size in range(2, count + 1):  # the value that comes in falls behind 0 to size - 1 others
        shares = np.convolve(shares, np.full(size, 1 / size))
    return min(1.0, 2 * float(shares[: falling + 1].sum()))
