"""What a runner needs to know of an environment, whichever kind it is."""

import os
from pathlib import Path
from typing import Any

import pydantic

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


class Environment(pydantic.BaseModel):
    """A place to run one adapter's workers."""

    model_config = pydantic.ConfigDict(frozen=True)

    adapter: str
    kind: str
    python: Path
    fingerprint: dict[str, Any]  # what defines it: stored with the results

    def command(self, staged: Path) -> list[str]:
        """The worker's argument list: isolated from PYTHON* variables and user packages, and writing no bytecode."""
        return [str(self.python), "-E", "-s", "-B", str(staged)]


class EnvFailed(Exception):
    """An environment could not be had. The reason says why in a sentence or two; the log has the rest."""

    def __init__(self, reason: str, log: Path | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log


def worker_variables(threads: int) -> dict[str, str]:
    """The environment variables of a worker that is granted ``threads`` CPU threads."""
    variables = {name: os.environ[name] for name in INHERITED if name in os.environ}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        variables[name] = str(threads)
    return variables
