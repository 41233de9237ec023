"""Statistics of a cell's blocks. Pure functions of recorded samples."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Rate(NamedTuple):
    """Work a second, in images, tokens or samples.

    ``mean`` is all work over all time; ``std`` the standard deviation of the blocks' own rates.
    """

    mean: float
    std: float
    blocks: int
    steps: int


def rate(steps: Sequence[int], seconds: Sequence[float], work: int) -> Rate:
    """Return the rate of blocks of ``steps`` steps, each worth ``work``, that took ``seconds``.

    The mean weighs each block by its time, so it is the rate that a long run would have shown; the deviation is the
    sample standard deviation (n - 1) over blocks. Raises ``ValueError`` for fewer than two blocks or times that are
    not positive: no spread, no number.
    """
    if len(steps) != len(seconds) or len(steps) < 2 or min(seconds) <= 0:
        raise ValueError("a rate needs two or more blocks with positive times")
    done, time = np.asarray(steps, float) * work, np.asarray(seconds, float)
    return Rate(float(done.sum() / time.sum()), float(np.std(done / time, ddof=1)), len(steps), int(sum(steps)))
