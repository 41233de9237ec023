"""Statistics of a cell's blocks. Pure functions of recorded samples."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95


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
    done, time = np.asarray(steps, float) * work, np.asarray(seconds, float)
    with np.errstate(over="ignore"):
        rates = done / time
        sound = rates.min() > 0 and bool(np.isfinite(np.square(rates).sum()))
    if not sound:
        raise ValueError("a rate is finite and above zero")
    return Rate(float(done.sum() / time.sum()), float(np.std(rates, ddof=1)), len(steps), int(sum(steps)), precision(rates))


def precision(rates: Sequence[float]) -> float:
    """Return half the 95 % interval of the rates' centre, relative to it; infinite for fewer than two."""
    if len(rates) < 2:
        return math.inf
    low, high = location(np.log(np.asarray(rates, float)))[1:]
    return (high - low) / 2


def location(values: np.ndarray, level: float = LEVEL) -> tuple[float, float, float]:
    """Return the centre of ``values`` and the bounds of its interval.

    The Hodges-Lehmann estimate (the median of all pairwise means) with the interval that inverts Wilcoxon's signed-rank
    test (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, sections 3.2 and 3.3). It assumes only that
    errors are as likely up as down, so its coverage holds for few values and with spikes, where bootstrap intervals are
    too short (docs/results/calibration.md). Fewer than six cannot give 95 % that way: there, Student's t.
    """
    return signed_rank(values, level) if 2.0 ** (1 - len(values)) <= 1 - level else student(values, level)


def student(values: np.ndarray, level: float = LEVEL) -> tuple[float, float, float]:
    """Return the mean and the bounds of Student's interval."""
    middle = float(values.mean())
    reach = float(stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(len(values)))
    return middle, middle - reach, middle + reach


def signed_rank(values: np.ndarray, level: float = LEVEL) -> tuple[float, float, float]:
    """Return the Hodges-Lehmann estimate and the bounds of its interval, for as many values as ``level`` needs."""
    means, place = _pairwise_means(values), _place(len(values), level)
    return float(np.median(means)), float(means[place - 1]), float(means[-place])


def centre(values: np.ndarray) -> float:
    """Return the Hodges-Lehmann estimate alone, for any number of values."""
    return float(np.median(_pairwise_means(values)))


def _pairwise_means(values: np.ndarray) -> np.ndarray:
    """The means of all pairs of values, each with itself too, in order."""
    rows, columns = np.triu_indices(len(values))
    means: np.ndarray = np.sort((values[rows] + values[columns]) / 2)
    return means


@cache
def _place(count: int, level: float) -> int:
    """Which mean, counted from each end, bounds the interval: the largest k with P(signed-rank sum < k) at most (1 - level) / 2.

    The sum's exact distribution counts, for every sum, the subsets of the ranks 1 to n that have it.
    """
    shares = np.ones(1)
    for rank in range(1, count + 1):
        grown = np.zeros(len(shares) + rank)
        grown[: len(shares)] += shares / 2
        grown[rank:] += shares / 2
        shares = grown
    return int(np.searchsorted(np.cumsum(shares), (1 - level) / 2, side="right"))
