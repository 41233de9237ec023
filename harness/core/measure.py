"""The measuring loop: the same for every framework and device, with one clock."""

import itertools
import time
from typing import Any, Callable, List, NamedTuple


class Block(NamedTuple):
    """``steps`` steps timed between two syncs. Times in seconds: ``start`` and ``end`` of the monotonic clock, and the
    CPU time that the whole process used between two readings taken just outside the window."""

    steps: int
    start: float
    end: float
    cpu: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


def run_block(
    step: Callable[[Any, Any], None],
    sync: Callable[[Any], None],
    session: Any,
    batch: Any,
    steps: int,
    clock: Callable[[], float] = time.perf_counter,
    cpu_clock: Callable[[], float] = time.process_time,
) -> Block:
    """Time ``steps`` calls of ``step`` between two syncs.

    The first sync keeps work that is still queued (warm-up, staging) out of the window; the last keeps all of the
    block's own work in it. ``itertools.repeat`` is the cheapest loop that Python has: no counter object a step.
    """
    cpu_start = cpu_clock()
    sync(session)
    start = clock()
    for _ in itertools.repeat(None, steps):
        step(session, batch)
    sync(session)
    end = clock()
    return Block(steps, start, end, cpu_clock() - cpu_start)


# Seconds of steps between two syncs while a span is filled: short, so that a minute ends near the minute, and long beside a sync.
GRAIN = 0.2


def run_span(
    step: Callable[[Any, Any], None],
    sync: Callable[[Any], None],
    session: Any,
    batch: Any,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
    cpu_clock: Callable[[], float] = time.process_time,
) -> Block:
    """Run steps for ``seconds``, and at least one: no further step is begun that would likely end later.

    The block tells how many were done and when the last one was.
    """
    cpu_start = cpu_clock()
    sync(session)
    start = clock()
    done, steps = 0, 1
    while steps:
        for _ in itertools.repeat(None, steps):
            step(session, batch)
        sync(session)
        end = clock()
        done += steps
        pace = max((end - start) / done, 1e-9)
        steps = max(0, min(int((seconds - (end - start)) / pace), max(1, int(GRAIN / pace))))
    return Block(done, start, end, cpu_clock() - cpu_start)


class Requests(NamedTuple):
    """Steps timed one by one. ``start`` is of the monotonic clock, ``latencies`` and ``cpu`` are seconds."""

    start: float
    latencies: List[float]
    cpu: float


def run_requests(
    step: Callable[[Any, Any], None],
    sync: Callable[[Any], None],
    session: Any,
    batch: Any,
    steps: int,
    clock: Callable[[], float] = time.perf_counter,
    cpu_clock: Callable[[], float] = time.process_time,
) -> Requests:
    """Time ``steps`` steps one by one, as requests that wait for each other: each from its call until the device has finished it."""
    cpu_start = cpu_clock()
    latencies = []
    sync(session)
    first = clock()
    for _ in itertools.repeat(None, steps):
        start = clock()
        step(session, batch)
        sync(session)
        latencies.append(clock() - start)
    return Requests(first, latencies, cpu_clock() - cpu_start)
