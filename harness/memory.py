"""Memory of a GPU while a worker comes up and warms up, by NVML.

What NVML can tell for certain is the memory in use on the whole device: process numbers are those of the host's namespace, which a
container does not know, and some drivers count none. So the peak is held against a baseline read before the worker was started,
while everything else of this run stands still. Strangers on the device show in the noise flags.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from harness import hostinfo

INTERVAL = 0.01  # seconds between samples; allocators that keep what they had make shorter peaks visible


class Seen:
    """What was sampled. Bytes; ``found`` is empty on a CPU and where NVML cannot tell."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}


@contextlib.contextmanager
def watch(device: str, interval: float = INTERVAL) -> Iterator[Seen]:
    """Sample the memory in use on ``device`` while the block inside runs. The first sample is the baseline."""
    seen = Seen()
    if device == "cpu":
        yield seen
        return
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield seen
        return
    stop = threading.Event()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(hostinfo.gpu_index(device))
        samples = [_used(handle)]

        def sample() -> None:
            while not stop.wait(interval):
                samples.append(_used(handle))

        thread = threading.Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()
            samples.append(_used(handle))
            seen.found = {"baseline": samples[0], "peak": max(samples), "samples": len(samples), "interval": interval}
    finally:
        pynvml.nvmlShutdown()


def _used(handle: Any) -> int:
    """Bytes in use on the device. Newer drivers count what they reserve for themselves apart; older ones count it in."""
    import pynvml

    try:
        return int(pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2).used)
    except pynvml.NVMLError:
        return int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
