"""Statistics of a cell's blocks. Pure functions of recorded samples."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Rate(NamedTuple):
    """Samples a second. ``mean`` is all work over all time; ``std`` the standard deviation of the blocks' own rates."""

    mean: float
    std: float
    blocks: int
    steps: int


def rate(steps: Sequence[int], seconds: Sequence[float], batch: int) -> Rate:
    """Return the rate of blocks of ``steps`` steps of ``batch`` samples that took ``seconds``.

    The mean weighs each block by its time, so it is the rate that a long run would have shown; the deviation is the
    sample standard deviation (n - 1) over blocks. Raises ``ValueError`` for fewer than two blocks or times that are
    not positive: no spread, no number.
    """
    if len(steps) != len(seconds) or len(steps) < 2 or min(seconds) <= 0:
        raise ValueError("a rate needs two or more blocks with positive times")
    work, time = np.asarray(steps, float) * batch, np.asarray(seconds, float)
    return Rate(float(work.sum() / time.sum()), float(np.std(work / time, ddof=1)), len(steps), int(sum(steps)))
