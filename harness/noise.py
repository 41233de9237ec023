"""What else happens on this host: before a run, and while a block is timed."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from harness import hostinfo

BUSY = 0.3  # load average a CPU above which other work will show
SWAPPED = 2**28  # bytes in swap that say that memory was short

# NVML's reasons for a lowered clock that say that a device could not keep its speed (nvml.h, nvmlClocksEventReasons);
# idling and a user's own setting are none of them.
THROTTLED = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


def warnings(host: dict[str, Any]) -> list[str]:
    """Return what would make numbers noisy on the host that ``hostinfo.describe`` described, in a sentence each."""
    cpus, found = len(host["cpus"]), []
    if host["load_average"] is not None and host["load_average"] > BUSY * cpus:
        found.append(f"the load average is {host['load_average']:.1f}: other work on this host will show in the numbers")
    if host["governor"] not in (None, "performance"):
        found.append(f"the frequency governor is '{host['governor']}': 'performance' keeps the clock steady")
    if host["cpu_quota"] is not None and host["cpu_quota"] < cpus:
        found.append(f"{cpus} CPUs are visible, but the control group grants the time of {host['cpu_quota']:g}: set threads in the suite")
    if turbo():
        found.append("turbo is on: clocks depend on heat and on how many cores work")
    if psutil.swap_memory().used > SWAPPED:
        found.append(f"{psutil.swap_memory().used / 2**30:.1f} GiB are in swap: memory was short")
    return found


def turbo() -> bool | None:
    """Whether CPUs may exceed their nominal clock, where the system tells (intel_pstate or acpi-cpufreq)."""
    for path, on in (("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"), ("/sys/devices/system/cpu/cpufreq/boost", "1")):
        with contextlib.suppress(OSError):
            return Path(path).read_text(encoding="ascii").strip() == on
    return None


class Seen:
    """What ran beside a block. Filled when the watch is over."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.busy = 0.0
        self.gpu: dict[str, Any] = {}

    def besides(self, worker_cpu: float) -> dict[str, Any]:
        """Return ``others``, the cores that anything but the worker used, this very process included; and what NVML says."""
        found: dict[str, Any] = dict(self.gpu)
        if self.seconds > 0:
            found["others"] = round(max(0.0, self.busy - worker_cpu) / self.seconds, 3)
        return found


def _busy() -> float:
    """CPU seconds that the whole host has spent on work since it was started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0))


@contextlib.contextmanager
def watch(device: str = "cpu") -> Iterator[Seen]:
    """Count the host's work while the block inside runs; of a GPU, ask for heat, clocks and strangers when it has ended.

    The kernel counts CPU time in hundredths of a second.
    """
    seen = Seen()
    start, busy = time.monotonic(), _busy()
    yield seen
    seen.seconds, seen.busy = time.monotonic() - start, _busy() - busy
    if device != "cpu":
        seen.gpu = gpu_state(hostinfo.gpu_index(device))


def gpu_state(index: int) -> dict[str, Any]:
    """Return temperature in degrees Celsius, clock in MHz, reasons for throttling, and the number of processes on a GPU.

    Process numbers cannot be told apart from a worker's own in containers, so they are counted, not named. What NVML cannot
    tell is left out.
    """
    import pynvml

    found: dict[str, Any] = {}
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            found["gpu_celsius"] = pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
            found["gpu_mhz"] = pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
            reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
            found["gpu_throttled"] = [name for bit, name in THROTTLED.items() if reasons & bit]
            found["gpu_processes"] = len(pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
        finally:
            pynvml.nvmlShutdown()
    return found
