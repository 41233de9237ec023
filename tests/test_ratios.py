"""Ratios of paired rates: point, interval and verdict."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.ratios import Ratio, Verdict, paired, ratio, verdict
from harness.stats import location, precision, signed_rank


class Timed(NamedTuple):
    process: int
    round: int
    rate: float


def pairs(*ratios, base=100.0):
    return [(base * r, base) for r in ratios]


@pytest.mark.parametrize(
    ("count", "place"),
    [(6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (15, 26), (20, 53)],  # of published tables of the signed-rank test at 5 %
)
def test_the_interval_is_that_of_the_signed_rank_test(count, place):
    values = np.arange(count) ** 1.3
    means = sorted((values[i] + values[j]) / 2 for i in range(count) for j in range(i, count))
    assert signed_rank(values) == (float(np.median(means)), means[place - 1], means[-place])


def test_few_values_have_student_s_interval():
    middle, low, high = location(np.array([1.0, 2.0, 3.0]))
    assert (middle, low, high) == pytest.approx((2.0, 2 - 4.303 / math.sqrt(3), 2 + 4.303 / math.sqrt(3)), abs=1e-3)


@pytest.mark.parametrize(("rates", "known"), [([5.0], math.inf), ([5.0] * 8, 0.0)])
def test_precision_of_no_spread(rates, known):
    assert precision(rates) == known


def test_a_spike_moves_neither_point_nor_bounds_much():
    calm = [1.10, 1.11, 1.09, 1.10, 1.12, 1.08, 1.10, 1.11, 1.09, 1.10] * 2
    found, hit = ratio([pairs(*calm)]), ratio([pairs(*calm[:-1], 0.4)])
    assert found.value == pytest.approx(1.10, abs=0.001) and hit.value == pytest.approx(found.value, rel=0.01)
    assert hit.low > 1.08 and hit.high < 1.12


def test_processes_have_an_error_of_their_own():
    """Each process is steady, but they differ: what one of them says is not precise."""
    one, other, third = ([(r * (1 + 0.001 * k), 1.0) for k in range(8)] for r in (1.0, 1.2, 1.1))
    alone, together = ratio([one]), ratio([one, other, third])
    assert alone.high / alone.low < 1.01
    assert together.low < 1.0 and together.high > 1.2 and together.processes == 3 and together.pairs == 24


@pytest.mark.parametrize("processes", [[], [[]], [pairs(1.1)], [[], pairs(1.1)]])
def test_too_few_pairs_are_no_ratio(processes):
    assert ratio(processes) is None


@given(st.lists(st.floats(0.5, 2), min_size=2, max_size=12))
def test_turning_pairs_round_turns_the_ratio_round(ratios):
    found, turned = ratio([pairs(*ratios)]), ratio([[(b, a) for a, b in pairs(*ratios)]])
    assert found.value == pytest.approx(1 / turned.value, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((1 / turned.high, 1 / turned.low), rel=1e-9)
    assert found.low <= found.value * (1 + 1e-12) and found.value <= found.high * (1 + 1e-12)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.02, 1.10, Verdict.FASTER),
        (0.90, 0.98, Verdict.SLOWER),
        (0.98, 1.05, Verdict.UNDECIDED),
        (0.995, 1.005, Verdict.SAME),
        (1.001, 1.005, Verdict.SAME),  # a difference for certain, and for certain too small to matter
        (1.001, 1.05, Verdict.UNDECIDED),  # a difference for certain, and perhaps too small to matter
        (1.012, 1.05, Verdict.FASTER),
        (0.92, 0.995, Verdict.UNDECIDED),
        (0.995, 1.05, Verdict.UNDECIDED),
    ],
)
def test_verdicts(low, high, said):
    assert verdict(Ratio(math.sqrt(low * high), low, high, 10), 0.01) is said


def test_only_blocks_of_one_round_and_process_are_a_pair():
    ours = [Timed(0, 0, 10.0), Timed(0, 1, 11.0), Timed(0, 3, 13.0), Timed(1, 0, 20.0)]
    theirs = [Timed(1, 0, 2.0), Timed(0, 3, 1.3), Timed(0, 0, 1.0), Timed(0, 2, 7.0)]
    assert paired(ours, theirs) == [[(10.0, 1.0), (13.0, 1.3)], [(20.0, 2.0)]]
