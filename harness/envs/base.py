"""What a runner needs to know of an environment, whichever kind it is."""

import subprocess
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pydantic

from harness.statuses import Status

ISOLATED = ("-E", "-s", "-B")  # Python's options for a worker: no PYTHON* variables, no user packages, no bytecode written


class Death(NamedTuple):
    """What a worker's exit code tells, as a status and as words after "the worker was"."""

    status: Status
    how: str


class Keeper(Protocol):
    """Holds one running worker: parks and wakes it, ends it whole, and knows what its exit code means.

    ``process`` is what the host started: the worker itself, or the client of a container engine.
    """

    def park(self, process: "subprocess.Popen[bytes]") -> None:
        """Stop everything the worker consists of, so that an idle rival's thread pools take no core; raise ``EnvFailed``."""

    def wake(self, process: "subprocess.Popen[bytes]") -> None:
        """Let it run again; raise ``EnvFailed``. One that is awake stays so."""

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """End it, politely at first, parked or not. Afterwards nothing of it is alive."""

    def death(self, code: int) -> Death:
        """Explain the exit code of a worker that ended by itself."""


class Launch(NamedTuple):
    """How to start one worker, and who keeps it."""

    command: list[str]
    variables: dict[str, str]
    keeper: Keeper
    memory: int | None = None  # bytes of data that the process may have, where nothing else limits it


class Environment(pydantic.BaseModel):
    """A place to run one adapter's workers."""

    model_config = pydantic.ConfigDict(frozen=True)

    adapter: str
    kind: str
    python: Path
    fingerprint: dict[str, Any]  # what defines it: stored with the results

    def launch(self, staged: Path, cpus: list[int], device: str) -> Launch:
        """Return how to start a worker that imports from ``staged`` and is granted ``cpus`` and ``device``."""
        raise NotImplementedError


class EnvFailed(Exception):
    """An environment could not be had. The reason says why in a sentence or two; the log has the rest."""

    def __init__(self, reason: str, log: Path | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


def thread_variables(threads: int) -> dict[str, str]:
    """What tells libraries how many CPU threads a worker is granted, wherever it runs."""
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
