"""The sync proof on a device that keeps its own time: honest ones pass, those that do not wait are caught."""

import pytest

from harness.core.conformance import sync
from harness.core.plugin import Hooks


class Device:
    """A queue of work, a clock, and hooks. ``waits`` is the share of the queue that a sync waits for."""

    def __init__(self, step=0.01, dispatch=1e-5, reading=0.002, waits=1.0, fixed=0.0, hiccup=()):
        self.step_seconds, self.dispatch, self.reading, self.waits, self.fixed = step, dispatch, reading, waits, fixed
        self.now, self.queued, self.steps, self.hiccups = 0.0, 0.0, 0, dict(hiccup)

    def clock(self):
        return self.now

    def step(self, session, batch):
        self.steps += 1
        self.now += self.dispatch
        self.queued += self.step_seconds

    def sync(self, session):
        if self.queued:
            self.now += self.fixed
        self.now += self.waits * self.queued
        self.queued -= self.waits * self.queued

    def read(self, session):
        self.now += self.queued + self.reading + self.hiccups.pop(self.steps, 0.0)
        self.queued = 0.0

    def prove(self):
        hooks = Hooks(*[None] * len(Hooks._fields))._replace(sync_device=self.sync, read_results=self.read)
        return sync.prove(hooks, None, None, self.step, self.clock)


def failed(proof):
    return [check.what for check in proof.checks if not check.passed]


@pytest.mark.parametrize("step", [1e-6, 1e-4, 0.01, 0.4, 15.0])
@pytest.mark.parametrize("reading", [1e-5, 0.002, 0.3])
def test_a_sync_that_waits_passes(step, reading):
    device = Device(step=step, reading=reading)
    proof = device.prove()
    assert failed(proof) == [] and proof.steps == device.steps
    assert max(proof.timings) >= 2


@pytest.mark.parametrize("step", [1e-4, 0.01, 0.4, 15.0])
@pytest.mark.parametrize("reading", [1e-5, 0.002])
def test_a_sync_that_does_nothing_is_caught(step, reading):
    assert "time left after sync" in failed(Device(step=step, reading=reading, waits=0.0).prove())


@pytest.mark.parametrize("waits", [0.5, 0.7])
def test_a_sync_that_waits_for_a_part_is_caught(waits):
    assert failed(Device(waits=waits).prove()) == ["time left after sync"]


def test_time_that_does_not_grow_with_the_work_is_caught():
    """A framework that runs queued steps once, whatever their number."""

    class Merges(Device):
        def step(self, session, batch):
            self.queued = 0.0
            super().step(session, batch)

    assert failed(Merges().prove()) == ["time that twice the steps do not take"]


def test_a_slow_step_is_proved_with_four_steps_in_all():
    device = Device(step=15.0)
    assert device.prove().steps == device.steps == 4


def test_a_hiccup_of_the_host_is_tried_again():
    proof = Device(hiccup={1 + 1 + 8 + 32 + 64: 30.0}).prove()
    assert failed(proof) == [] and proof.steps == 3 + 2 * (8 + 32 + 64)
    assert failed(Device(step=15.0, hiccup={4: 30.0}).prove()) == []


def test_short_steps_are_tried_until_the_host_lets_them():
    """Reading is late in five tries: an honest sync on a busy host."""
    late = {106 + 105 * number: 0.03 for number in range(5)}
    assert failed(Device(step=0.0001, reading=1e-5, hiccup=late).prove()) == []


def test_tries_end():
    device = Device(step=0.0001, waits=0.0)
    assert failed(device.prove()) == ["time left after sync"]
    assert device.now < 2 * sync.PATIENCE
