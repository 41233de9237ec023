"""What the host is: read from the system, nothing guessed. What cannot be read is None."""

import contextlib
import os
import platform
import socket
from pathlib import Path
from typing import Any

from harness import devices


def granted_cpus() -> list[int]:
    """Logical CPUs that this process may use, by number."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cpu_quota() -> float | None:
    """CPUs' worth of time that the control group grants (cgroup v2 or v1), or None without a limit."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text())
        period_us = int(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text())
        return quota / period_us if quota > 0 else None
    except (OSError, ValueError):
        return None


def granted_memory() -> int:
    """Bytes of memory that this process may use: what the machine has, or less where its control group has a limit."""
    import psutil

    return min([int(psutil.virtual_memory().total), *_memory_limits()])


def oom_kills(vmstat: Path = Path("/proc/vmstat")) -> int:
    """How many processes the kernel has killed for want of memory since it started; 0 where it does not tell."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        return next(int(line.split()[1]) for line in vmstat.read_text().splitlines() if line.startswith("oom_kill "))
    return 0


def _memory_limits(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """Limits of this process's control group (v2 or v1) and of those above it. In a container its own group looks like the root."""
    found = []
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, inside = line.split(":", 2)
        if controllers == "":
            root, name = mounted, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = mounted / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / inside.lstrip("/")
        for folder in (group, *group.parents):
            with contextlib.suppress(OSError, ValueError):  # the root of v2 has no such file; "max" is no number
                found.append(int((folder / name).read_text()))
            if folder == root:
                break
    return found


def _cpu_model() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or None


def cpu_topology(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, int]:
    """Sockets, cores of each, threads of each core, and logical CPUs of the machine; empty where the system does not tell."""
    try:
        records = [dict(_field(line) for line in record.splitlines()) for record in cpuinfo.read_text().strip().split("\n\n")]
        sockets = len({record["physical id"] for record in records})
        cores, siblings = int(records[0]["cpu cores"]), int(records[0]["siblings"])
    except (OSError, KeyError, ValueError):
        return {}
    return {"sockets": sockets, "cores_per_socket": cores, "threads_per_core": max(1, siblings // cores), "logical": len(records)}


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def governor() -> str | None:
    """The frequency governor of CPU 0, where the system tells."""
    try:
        return Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").read_text().strip()
    except OSError:
        return None


def load_average() -> float | None:
    """The 1-minute load average."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def gpus() -> list[dict[str, Any]]:
    """NVIDIA GPUs by NVML: index, name, UUID, memory in bytes, driver. Empty without a driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        found = []
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total
            uuid, name = pynvml.nvmlDeviceGetUUID(handle), pynvml.nvmlDeviceGetName(handle)
            found.append(
                {"index": index, "name": name, "uuid": uuid, "memory_bytes": memory, "driver": pynvml.nvmlSystemGetDriverVersion()}
            )
        return found
    finally:
        pynvml.nvmlShutdown()


def gpu_index(device: str) -> int:
    """NVML's index of "cuda", "cuda:N" or a UUID.

    CUDA counts the devices that CUDA_VISIBLE_DEVICES lists, NVML counts all: a listed index or UUID is looked up. A UUID that was
    asked for needs no list.
    """
    if devices.is_uuid(device):
        return int(next((gpu["index"] for gpu in gpus() if gpu["uuid"] == device), 0))
    number = devices.number(device)
    visible = [item.strip() for item in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if item.strip()]
    if number >= len(visible):
        return number
    if visible[number].isdigit():
        return int(visible[number])
    return next((gpu["index"] for gpu in gpus() if gpu["uuid"].startswith(visible[number])), number)


def describe() -> dict[str, Any]:
    """The host as a run stores it."""
    import psutil

    return {
        "hostname": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": granted_cpus(),
        "cpu_topology": cpu_topology(),
        "cpu_quota": cpu_quota(),
        "governor": governor(),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "load_average": load_average(),
        "gpus": gpus(),
        "python": platform.python_version(),
    }
