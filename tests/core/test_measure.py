"""The timed loop, with a clock that ticks when told to."""

import pytest

from harness.core import measure


class Bench:
    """Clocks, steps and syncs in one diary. A step takes 2 s and a sync 3 s of both clocks; clock reads take nothing."""

    def __init__(self):
        self.diary = []
        self.now = 100.0
        self.used = 7.0

    def clock(self):
        self.diary.append("clock")
        return self.now

    def cpu_clock(self):
        self.diary.append("cpu")
        return self.used

    def step(self, session, batch):
        assert (session, batch) == ("session", "batch")
        self.spend("step", 2)

    def sync(self, session):
        assert session == "session"
        self.spend("sync", 3)

    def spend(self, what, seconds):
        self.diary.append(what)
        self.now += seconds
        self.used += 4 * seconds

    def run(self, steps):
        return measure.run_block(self.step, self.sync, "session", "batch", steps, clock=self.clock, cpu_clock=self.cpu_clock)


@pytest.fixture
def bench():
    return Bench()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_block_syncs_before_each_clock_read_and_never_between_steps(bench, steps):
    bench.run(steps)
    assert bench.diary == ["cpu", "sync", "clock"] + ["step"] * steps + ["sync", "clock", "cpu"]


def test_the_window_holds_the_steps_and_the_last_sync(bench):
    block = bench.run(5)
    assert (block.steps, block.start, block.end) == (5, 103.0, 116.0)
    assert block.seconds == 5 * 2 + 3


def test_cpu_time_is_read_just_outside_the_window(bench):
    assert bench.run(5).cpu == 4 * (3 + 5 * 2 + 3)


def test_a_second_block_starts_where_the_first_ended(bench):
    first, second = bench.run(1), bench.run(1)
    assert second.start == first.end + 3


def test_an_empty_block_is_the_sync_alone(bench):
    assert bench.run(0).seconds == 3


def test_a_failing_step_is_not_swallowed(bench):
    def step(session, batch):
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        measure.run_block(step, bench.sync, "session", "batch", 3)


def test_requests_are_timed_one_by_one(bench):
    found = measure.run_requests(bench.step, bench.sync, "session", "batch", 2, clock=bench.clock, cpu_clock=bench.cpu_clock)
    assert bench.diary == ["cpu", "sync", "clock"] + ["clock", "step", "sync", "clock"] * 2 + ["cpu"]
    assert found == measure.Requests(103.0, [5.0, 5.0], 4 * (3 + 2 * 5))


@pytest.mark.parametrize("seconds, steps", [(0.0, 1), (4.9, 1), (10.1, 2), (50.0, 10)])
def test_a_span_holds_the_steps_that_end_in_it_and_one_at_least(bench, seconds, steps):
    """A step with its sync takes 5 s here."""
    block = measure.run_span(bench.step, bench.sync, "session", "batch", seconds, clock=bench.clock, cpu_clock=bench.cpu_clock)
    assert (block.steps, block.seconds) == (steps, 5.0 * steps)
    assert bench.diary[:3] == ["cpu", "sync", "clock"] and bench.diary[-1] == "cpu"


def test_short_steps_are_not_synced_one_by_one():
    """Steps of a millisecond, syncs of nothing: after the first, a grain of steps between two syncs."""
    now, syncs = [0.0], []

    def step(session, batch):
        now[0] += 0.001

    block = measure.run_span(step, lambda session: syncs.append(now[0]), None, None, 1.0, clock=lambda: now[0], cpu_clock=lambda: 0.0)
    assert block.steps == pytest.approx(1000, abs=2) and len(syncs) < 12


def test_the_real_clocks_go_forward():
    block = measure.run_block(lambda session, batch: None, lambda session: None, None, None, 1000)
    assert block.end > block.start
    assert block.cpu >= 0
