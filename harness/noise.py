"""What else ran on this host while a block was timed."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import psutil


class Seen:
    """Filled when the watch is over."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.busy = 0.0

    def besides(self, worker_cpu: float) -> dict[str, Any]:
        """Return ``{"others": cores that anything but the worker used}``, this very process included."""
        return {"others": round(max(0.0, self.busy - worker_cpu) / self.seconds, 3)} if self.seconds > 0 else {}


def _busy() -> float:
    """CPU seconds that the whole host has spent on work since it was started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0))


@contextlib.contextmanager
def watch() -> Iterator[Seen]:
    """Count the host's work while the block inside runs. The kernel counts it in hundredths of a second."""
    seen = Seen()
    start, busy = time.monotonic(), _busy()
    yield seen
    seen.seconds, seen.busy = time.monotonic() - start, _busy() - busy
