"""What the latencies of single requests say: quantiles, a bound for the tail, and two throughputs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Latency(NamedTuple):
    """Statistics of ``requests`` timed requests of ``batch`` samples each. Times are seconds, throughputs samples a second."""

    requests: int
    batch: int
    mean: float
    std: float | None  # n - 1 in the denominator; None for a single latency
    p50: float
    p90: float
    p99: float
    p99_bound: float | None  # upper confidence bound; None where there are too few latencies for one
    confidence: float
    throughput: float  # all samples / all time
    throughput_by_median: float  # batch / median: what one typical request would give

    @property
    def median(self) -> float:
        return self.p50

    def p99_text(self) -> str:
        """P99 in milliseconds with what can be said of it; a number alone would look surer than it is."""
        text = f"{1000 * self.p99:.4g} ms"
        if self.p99_bound is None:
            return f"{text} (n too small for a bound: {self.requests} of {needed(0.99, self.confidence)})"
        return f"{text} (at most {1000 * self.p99_bound:.4g} ms with {100 * self.confidence:g} % confidence)"


def latency_statistics(seconds: Sequence[float], batch: int, confidence: float = 0.95) -> Latency:
    """Return the statistics of the latencies ``seconds``, one for each timed request of ``batch`` samples.

    ``throughput`` is (requests x batch) / sum of latencies, the definition of the DEEP-GAP paper (arXiv 2604.14552);
    ``throughput_by_median`` is batch / median, which is what its published code stores. They differ where the tail is long.
    Percentiles are interpolated linearly between order statistics, as that code does; its deviation has n in the
    denominator, this one n - 1. ``p99_bound`` is ``quantile_bound`` at 0.99.

    Raises ``ValueError`` for no latencies, for latencies that are not finite and above zero, and for a batch below 1.
    """
    times = np.asarray(seconds, dtype=float)
    if times.ndim != 1 or times.size == 0 or not np.all(np.isfinite(times)) or times.min() <= 0:
        raise ValueError("latencies are a list of one or more finite times above zero")
    if isinstance(batch, bool) or batch < 1:
        raise ValueError(f"the batch is {batch!r}; a request has one sample or more")
    p50, p90, p99 = (float(value) for value in np.percentile(times, [50, 90, 99]))
    return Latency(
        requests=int(times.size),
        batch=int(batch),
        mean=float(times.mean()),
        std=float(times.std(ddof=1)) if times.size > 1 else None,
        p50=p50,
        p90=p90,
        p99=p99,
        p99_bound=quantile_bound(times.tolist(), 0.99, confidence),
        confidence=confidence,
        throughput=float(times.size * batch / times.sum()),
        throughput_by_median=float(batch / p50),
    )


def quantile_bound(values: Sequence[float], quantile: float, confidence: float) -> float | None:
    """Return an upper confidence bound for a quantile of what ``values`` were drawn from, or None for too few of them.

    It is the smallest order statistic that lies at or above the quantile with at least ``confidence``, whatever the
    distribution: the r-th of n does so with the probability that a binomial (n, quantile) count is below r. The draws are
    taken for independent, which latencies in a row are only about. Raises ``ValueError`` unless 0 < quantile, confidence < 1.
    """
    if not (0 < quantile < 1 and 0 < confidence < 1):
        raise ValueError("a quantile and a confidence lie between 0 and 1")
    import scipy.stats  # takes longer to load than most commands run

    rank = int(scipy.stats.binom.ppf(confidence, len(values), quantile)) + 1
    return sorted(values)[rank - 1] if 0 < rank <= len(values) else None


def needed(quantile: float, confidence: float) -> int:
    """Return how many values ``quantile_bound`` needs: the largest of n is at or above with 1 - quantile ** n."""
    return int(np.ceil(np.log1p(-confidence) / np.log(quantile)))


class Saturation(NamedTuple):
    """Where a sweep over batches stops paying: the smallest batch within a margin of the best throughput.

    It was ``reached`` if a larger batch was tried: otherwise throughput might have gone on rising.
    """

    batch: int
    throughput: float
    best: float
    reached: bool


def saturation(throughputs: Mapping[int, float], within: float = 0.05) -> Saturation:
    """Return the saturation point of ``throughputs`` by batch. Raises ``ValueError`` where there are none, or one is not above zero."""
    if not throughputs or min(throughputs.values()) <= 0:
        raise ValueError("saturation is a matter of one or more throughputs above zero")
    best = max(throughputs.values())
    batch = min(batch for batch, throughput in throughputs.items() if throughput >= (1 - within) * best)
    return Saturation(batch, throughputs[batch], best, batch < max(throughputs))
