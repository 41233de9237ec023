"""How many steps a block gets, on a worker whose steps take what they are told to."""

import pytest
from helpers import CELL, Recorder

from harness.config import Measure
from harness.matrix import Cell
from harness.protocols import Throughput
from harness.rival import Done, Rival

MEASURE = Measure(block_seconds=0.5, warmup_seconds=0.3, warmup_cap_seconds=0.3, blocks=6, most_blocks=6)


class Worker:
    """Answers blocks. A step takes 10 ms, or what ``stalls`` says for the number of the block."""

    def __init__(self, stalls):
        self.stalls = stalls
        self.asked = []

    def ask(self, request, limit):
        step = self.stalls.get(len(self.asked), 0.01)
        self.asked.append(request["steps"])
        return {"event": "block", "steps": request["steps"], "start": 0.0, "seconds": step * request["steps"], "cpu_seconds": 0.0}


def rival(stalls=(), seen=(0.01, 0.01)):
    found = Rival(Cell(**CELL, adapter="alpha", variant="eager"), Worker(dict(stalls)), Recorder().journal)
    found.warm_up(MEASURE, Done(1.0, 10, seen))
    return found


@pytest.mark.parametrize("stalls", [{}, {0: 0.7}])
def test_one_stall_in_warm_up_does_not_make_blocks_short(stalls):
    """The only window of warm-up took seventy times as long as a step does."""
    assert rival(stalls).steps == 50


def test_blocks_are_made_longer_where_warm_up_was_slow():
    """The host was busy until the first block had begun."""
    found = rival({0: 0.7}, seen=(0.7, 0.7))
    assert found.steps == 1
    for number in range(4):
        Throughput(MEASURE).turn(found, number, 1)
    assert found.worker.asked[1:] == [1, 1, 1, 50, 1, 50, 1, 50]  # a settling step before each
    assert found.rates == [pytest.approx(100)] * 4


def test_a_stall_while_timed_leaves_the_size_alone():
    found = rival({4: 0.7})
    for number in range(4):
        Throughput(MEASURE).turn(found, number, 1)
    assert found.worker.asked[1:] == [1, 50, 1, 50, 1, 50, 1, 50]


def test_a_step_longer_than_a_block_is_a_block():
    found = rival(dict.fromkeys(range(20), 3.0), seen=(3.0, 3.0))
    for number in range(3):
        Throughput(MEASURE).turn(found, number, 1)
    assert found.worker.asked[1:] == [1, 1, 1]  # nothing to settle beside such a step
