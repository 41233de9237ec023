"""A worker that is a process of this host: what runs in a virtual environment or under the user's interpreter."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from harness import devices
from harness.envs.base import ISOLATED, Death, Environment, Launch, thread_variables
from harness.statuses import Status

GRACE = 2.0  # seconds between SIGTERM and SIGKILL

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
    """Keeps a worker that leads a process group, so that what it starts is parked and ended with it."""

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

    def death(self, code: int) -> Death:
        how = f"killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
        return Death(Status.CRASHED, how)


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


class ProcessEnvironment(Environment):
    """A Python on this host. ``memory`` is the limit of each worker in bytes."""

    memory: int | None = None

    def launch(self, staged: Path, cpus: list[int], device: str) -> Launch:
        return Launch([str(self.python), *ISOLATED, str(staged)], worker_variables(len(cpus), device), ProcessGroup(), self.memory)


def worker_variables(threads: int, device: str) -> dict[str, str]:
    """The environment variables of a worker that is granted ``threads`` CPU threads and ``device``."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **devices.variables(device), **thread_variables(threads)}
