"""The measuring loop: the same for every framework and device, with one clock."""

import itertools
import time
from typing import Any, Callable, NamedTuple


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
