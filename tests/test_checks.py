"""The judgement of a cell that ran to its end."""

import pytest

from harness.checks import first_failure, judge
from harness.config import Measure
from harness.events import Check
from harness.stats import Rate
from harness.statuses import Status

MEASURE = Measure(unstable_above=0.10)
STEADY = Rate(100.0, 5.0, 10, 1000)


def check(error=1e-7, limit=1e-5, passed=True, worst="fc"):
    return Check(what="fp32 outputs", error=error, limit=limit, worst=worst, passed=passed)


def test_ok():
    assert judge([check(), check()], STEADY, True, MEASURE) == (Status.OK, "")


def test_a_failed_comparison_comes_before_all_else():
    status, reason = judge([check(), check(error=0.25, passed=False)], Rate(100.0, 90.0, 10, 1000), False, MEASURE)
    assert (status, reason) == (Status.PARITY_FAILED, "fp32 outputs: relative error 2.5e-01 in fc, limit 1e-05")


def test_an_error_that_is_not_finite():
    assert first_failure([check(error=None, passed=False, worst="")]) == "fp32 outputs: relative error not finite, limit 1e-05"


def test_no_failure():
    assert first_failure([check()]) is None
    assert first_failure([]) is None


def test_nothing_compared_is_nothing_proved():
    assert judge([], STEADY, True, MEASURE) == (Status.PARITY_FAILED, "nothing was compared with the reference")


def test_not_finite():
    assert judge([check()], STEADY, False, MEASURE)[0] is Status.PARITY_FAILED


@pytest.mark.parametrize(("std", "status"), [(10.0, Status.OK), (10.1, Status.UNSTABLE), (0.0, Status.OK)])
def test_unstable_above_the_limit(std, status):
    assert judge([check()], Rate(100.0, std, 10, 1000), True, MEASURE)[0] is status


def test_unstable_says_by_how_much():
    reason = judge([check()], Rate(200.0, 50.0, 7, 70), True, MEASURE)[1]
    assert reason == "standard deviation is 25% of the mean over 7 blocks (limit 10%)"


def test_statuses():
    """Which end makes the exit code 1, and which may show a number."""
    assert [status for status in Status if status.has_number] == [Status.OK, Status.UNSTABLE]
    assert [status for status in Status if not status.is_failure] == [Status.OK, Status.UNSTABLE, Status.UNSUPPORTED]
