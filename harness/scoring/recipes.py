"""Two papers' metrics: a table next to a published one, and iterations a minute."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

Nested = Mapping[str, Mapping[str, float | None]]


class Beside(NamedTuple):
    """A prediction and the gold value next to it, in the same unit. None is N/A."""

    prediction: float | None
    gold: float | None

    @property
    def ratio(self) -> float | None:
        """Prediction / gold; None where either is N/A."""
        return None if self.prediction is None or self.gold is None else self.prediction / self.gold


def compute_metric(predictions: Nested, gold: Nested) -> dict[str, dict[str, Beside]]:
    """Return, for every framework and model of ``gold``, the prediction next to the gold throughput.

    Both are ``{framework: {model: throughput}}`` with throughputs in samples, images or tokens a second, the same unit
    for both; None is N/A. The result has gold's shape and order. A pair that ``predictions`` lacks is N/A; a pair that
    ``gold`` lacks is not scored. Names must be equal: aliases, conditions and spreads are what ``harness score`` adds.

    The recipe is that of the PyTorch paper's Table 1 (arXiv 1912.01703), where the metric is the throughput itself.
    Raises ``ValueError`` for a throughput that is not finite and above zero, on either side.
    """
    for side, table in (("predictions", predictions), ("gold", gold)):
        for framework, models in table.items():
            for model, value in models.items():
                if value is not None and not (_is_number(value) and value > 0):
                    raise ValueError(f"{side}: {framework}, {model} is {value!r}; a throughput is finite and above zero, and None is N/A")
    return {
        framework: {model: Beside(predictions.get(framework, {}).get(model), value) for model, value in models.items()}
        for framework, models in gold.items()
    }


def calculate_throughput(cumulative_iterations: Sequence[float], elapsed_minutes: Sequence[float]) -> float:
    """Return iterations a minute: the last cumulative count over the last elapsed time.

    ``cumulative_iterations[i]`` iterations were done ``elapsed_minutes[i]`` minutes after the start. The times rise, the
    counts never fall. The recipe is Kawahata's (arXiv 2109.05783), who noted counts at each of five minutes. It says nothing
    of how steady the rate was, and a start-up before the first iteration counts as time.

    Raises ``ValueError`` for empty lists, lists of different lengths, counts that fall, are negative or end at zero, and
    times that are zero, negative or do not rise.
    """
    counts, times = list(cumulative_iterations), list(elapsed_minutes)
    if not counts or len(counts) != len(times):
        raise ValueError(f"there are {len(counts)} counts and {len(times)} times; there must be as many of both, and at least one")
    if not all(_is_number(number) for number in (*counts, *times)):
        raise ValueError("every count and every time must be a finite number")
    if counts[0] < 0 or any(after < before for before, after in pairwise(counts)):
        raise ValueError(f"the counts are {counts}; cumulative counts are not negative and never fall")
    if times[0] <= 0 or any(after <= before for before, after in pairwise(times)):
        raise ValueError(f"the times are {times}; elapsed times are above zero and rise")
    if counts[-1] == 0:
        raise ValueError("no iteration was finished, so there is no throughput")
    return counts[-1] / times[-1]


def _is_number(value: object) -> bool:
    """Whether it is a finite number; NumPy's count, truth values do not."""
    if isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)  # type: ignore[arg-type]  # what it cannot take, it raises for
    except (TypeError, OverflowError):
        return False
