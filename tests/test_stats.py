"""Rates: their definition, and what has no rate."""

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from harness.stats import Rate, kendall, rate

POSITIVE = st.floats(1e-6, 1e6)


def test_the_mean_is_all_work_over_all_time():
    """10 steps in 1 s and 30 steps in 2 s: 40 steps in 3 s, not the mean of 10 and 15 steps a second."""
    found = rate([10, 30], [1.0, 2.0], work=6)
    assert found.mean == pytest.approx(80.0)
    assert found.std == pytest.approx((90 - 60) / math.sqrt(2))  # n - 1
    assert (found.blocks, found.steps) == (2, 40)


def test_equal_blocks_have_no_spread():
    assert rate([5, 5, 5], [0.5, 0.5, 0.5], work=2) == Rate(20.0, 0.0, 3, 15, 0.0)


@pytest.mark.parametrize(
    ("steps", "seconds"), [([], []), ([1], [1.0]), ([1, 1], [1.0, 0.0]), ([1, 1], [1.0, -1.0]), ([1, 1, 1], [1.0, 1.0])]
)
def test_no_spread_no_number(steps, seconds):
    with pytest.raises(ValueError, match="a rate needs two or more blocks with positive times"):
        rate(steps, seconds, work=1)


@given(st.lists(st.tuples(st.integers(1, 1000), POSITIVE), min_size=2), st.integers(1, 512))
def test_the_mean_lies_between_the_blocks(blocks, batch):
    steps, seconds = zip(*blocks, strict=True)
    found = rate(steps, seconds, batch)
    rates = [batch * s / t for s, t in blocks]
    assert min(rates) * (1 - 1e-9) <= found.mean <= max(rates) * (1 + 1e-9)
    assert 0 <= found.std <= (max(rates) - min(rates)) * (1 + 1e-9) + 1e-9


@given(st.lists(POSITIVE, min_size=2, max_size=20), st.integers(2, 50))
def test_units(seconds, factor):
    """Twice the batch is twice the samples; time in another unit scales both figures."""
    steps = [3] * len(seconds)
    one, many = rate(steps, seconds, 1), rate(steps, seconds, factor)
    slow = rate(steps, [second * factor for second in seconds], 1)
    rounding = 1e-9 * 3 / min(seconds)
    assert many.mean == pytest.approx(one.mean * factor) and many.std == pytest.approx(one.std * factor, abs=rounding * factor)
    assert slow.mean == pytest.approx(one.mean / factor) and slow.std == pytest.approx(one.std / factor, abs=rounding)


@given(st.lists(POSITIVE, min_size=3, max_size=30, unique=True))
def test_kendall_s_test_is_scipy_s(values):
    tau, chance = kendall(values)
    truth = scipy.stats.kendalltau(range(len(values)), values, method="exact")
    assert tau == pytest.approx(truth.statistic, abs=1e-12) and chance == pytest.approx(truth.pvalue, abs=1e-12)


def test_values_that_are_all_equal_have_no_trend():
    assert kendall([1.0] * 6) == (0.0, 1.0)
