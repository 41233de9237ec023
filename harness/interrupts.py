"""Interrupts that wait their turn."""

import contextlib
import signal
from collections.abc import Iterator

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Do what is inside whole: an interrupt that comes meanwhile is raised as ``KeyboardInterrupt`` at the end.

    Without it one could come between the start of a process and the note that there is one to end. For the main thread.
    """
    came: list[int] = []
    before = {number: signal.signal(number, lambda found, _: came.append(found)) for number in NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
