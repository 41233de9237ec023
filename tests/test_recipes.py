"""Two papers' recipes: a table next to gold, and iterations a minute."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.gold import published
from harness.scoring import Beside, calculate_throughput, compute_metric

GOLD = {"Chainer": {"AlexNet": 778.0, "VGG-19": None}, "PyTorch": {"AlexNet": 1547.0, "VGG-19": 119.0}}


class TestComputeMetric:
    def test_the_prediction_stands_next_to_gold(self):
        found = compute_metric({"PyTorch": {"AlexNet": 3094.0, "VGG-19": 119}, "Chainer": {"AlexNet": 389.0, "VGG-19": None}}, GOLD)
        assert found["PyTorch"] == {"AlexNet": Beside(3094.0, 1547.0), "VGG-19": Beside(119, 119.0)}
        assert (found["PyTorch"]["AlexNet"].ratio, found["Chainer"]["AlexNet"].ratio, found["Chainer"]["VGG-19"].ratio) == (2, 0.5, None)

    def test_the_result_has_golds_shape(self):
        """A pair that predictions lack is N/A; one that gold lacks is not there."""
        found = compute_metric({"PyTorch": {"NIN": 5.0}, "Theano": {"AlexNet": 1.0}}, GOLD)
        assert {framework: list(models) for framework, models in found.items()} == {name: ["AlexNet", "VGG-19"] for name in GOLD}
        assert {beside.prediction for models in found.values() for beside in models.values()} == {None}

    def test_the_paper_against_itself(self):
        gold = published.load("pytorch-paper").nested()
        ratios = [beside.ratio for models in compute_metric(gold, gold).values() for beside in models.values()]
        assert ratios.count(1.0) == 25 and ratios.count(None) == 11 and len(ratios) == 36

    @pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "1547", [1]])
    @pytest.mark.parametrize("side", ["predictions", "gold"])
    def test_what_is_no_throughput(self, side, value):
        tables = {"predictions": GOLD, "gold": GOLD, side: {"PyTorch": {"AlexNet": value}}}
        with pytest.raises(ValueError, match=f"^{side}: PyTorch, AlexNet is .*; a throughput is finite and above zero, and None is N/A$"):
            compute_metric(**tables)

    def test_numpy_numbers_are_numbers(self):
        assert compute_metric({"PyTorch": {"AlexNet": np.float32(2)}}, GOLD)["PyTorch"]["AlexNet"].prediction == 2


class TestCalculateThroughput:
    def test_the_last_count_over_the_last_time(self):
        assert calculate_throughput([80, 200, 300, 400, 500], [1, 2, 3, 4, 5]) == 100

    def test_one_reading_is_enough(self):
        assert calculate_throughput([30], [0.5]) == 60

    def test_a_stall_is_no_fault(self):
        assert calculate_throughput([0, 50, 50], [1, 2, 4]) == 12.5

    @pytest.mark.parametrize(
        ("counts", "times", "message"),
        [
            ([], [], "there are 0 counts and 0 times"),
            ([1, 2], [1], "there are 2 counts and 1 times; there must be as many of both"),
            ([10, 9], [1, 2], "cumulative counts are not negative and never fall"),
            ([-1, 9], [1, 2], "cumulative counts are not negative and never fall"),
            ([1, 2], [0, 1], "elapsed times are above zero and rise"),
            ([1, 2], [-2, -1], "elapsed times are above zero and rise"),
            ([1, 2], [2, 2], "elapsed times are above zero and rise"),
            ([1, 2], [2, 1], "elapsed times are above zero and rise"),
            ([0, 0], [1, 2], "no iteration was finished"),
            ([1, math.nan], [1, 2], "must be a finite number"),
            ([1, 2], [1, math.inf], "must be a finite number"),
            (["1"], [1], "must be a finite number"),
        ],
    )
    def test_what_is_refused(self, counts, times, message):
        with pytest.raises(ValueError, match=message):
            calculate_throughput(counts, times)

    @given(st.lists(st.tuples(st.integers(0, 1000), st.floats(0.01, 10)), min_size=1).filter(lambda steps: any(n for n, _ in steps)))
    def test_only_the_end_counts(self, steps):
        """However the readings were spaced: all iterations over all time."""
        counts, times = np.cumsum([n for n, _ in steps]), np.cumsum([t for _, t in steps])
        assert calculate_throughput(counts.tolist(), times.tolist()) == calculate_throughput([int(counts[-1])], [float(times[-1])])
