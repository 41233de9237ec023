"""A worker that is a process of this host: what runs in a virtual environment or under the user's interpreter."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import psutil

from harness import devices
from harness.envs.base import ISOLATED, Death, Environment, Launch, thread_variables
from harness.statuses import Status

GRACE = 2.0  # seconds between SIGTERM and SIGKILL
MARK = "HARNESS_WORKER"  # the variable by which a worker's children are known, wherever they went

# All that a worker inherits. Everything else of the user's environment stays outside: settings that would change a
# number without a trace, and secrets.
INHERITED = (
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "PATH",
    "TMPDIR",
    "TZ",
)


class ProcessGroup:
    """Keeps a worker that leads a process group, so that what it starts is parked and ended with it.

    What left the group is known by a variable that the worker was started with, and is ended as well: it would go on using the device.
    """

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def park(self, process: "subprocess.Popen[bytes]") -> None:
        _signal(process, signal.SIGSTOP)

    def wake(self, process: "subprocess.Popen[bytes]") -> None:
        _signal(process, signal.SIGCONT)

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """SIGTERM, a moment of grace, SIGKILL."""
        _signal(process, signal.SIGCONT)
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        _signal(process, signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + GRACE
        while (strays := _marked(self.mark)) and time.monotonic() < deadline:  # until none is found: one may be starting another
            for stray in strays:
                with contextlib.suppress(OSError):
                    os.kill(stray, signal.SIGKILL)
            time.sleep(0.01)

    def death(self, code: int) -> Death:
        how = f"killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
        return Death(Status.CRASHED, how)


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _marked(mark: str) -> list[int]:
    """This user's processes that are alive and were started with ``MARK`` set to ``mark``."""
    found = []
    for number in psutil.pids():
        with contextlib.suppress(psutil.Error):
            if psutil.Process(number).environ().get(MARK) == mark:
                found.append(number)
    return found


class ProcessEnvironment(Environment):
    """A Python on this host. ``memory`` is the limit of each worker in bytes."""

    memory: int | None = None

    def launch(self, staged: Path, cpus: list[int], device: str) -> Launch:
        mark = uuid.uuid4().hex
        variables = {**worker_variables(len(cpus), device), MARK: mark}
        return Launch([str(self.python), *ISOLATED, str(staged)], variables, ProcessGroup(mark), self.memory)


def worker_variables(threads: int, device: str) -> dict[str, str]:
    """The environment variables of a worker that is granted ``threads`` CPU threads and ``device``."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **devices.variables(device), **thread_variables(threads)}
