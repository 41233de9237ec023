"""The host's container engine: finding it, and asking it something."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from harness.config import Containers
from harness.envs.base import EnvFailed

KNOWN = ("podman", "docker")  # in this order: podman needs no daemon and no root
ANSWER_LIMIT = 60.0  # seconds for what should take less than one


class Engine(NamedTuple):
    """An engine and how this host wants it called."""

    path: str
    settings: Containers

    @property
    def name(self) -> str:
        """Whose options it takes: an engine called by another name is taken for podman."""
        return "docker" if "docker" in Path(self.path).name else "podman"

    def command(self, *arguments: str) -> list[str]:
        return [self.path, *self.settings.engine_flags, *arguments]

    def ask(self, *arguments: str, limit: float = ANSWER_LIMIT) -> str:
        """Return what the engine prints; raise ``EnvFailed`` with its last words where it does not do it."""
        what = f"{self.name} {' '.join(arguments[:2])}"
        try:
            done = subprocess.run(
                self.command(*arguments),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=limit,
                cwd="/",
            )
        except subprocess.TimeoutExpired:
            raise EnvFailed(f"{what} did not answer within {limit:.0f} s")
        except OSError as error:
            raise EnvFailed(f"{self.path} cannot be started: {error.strerror}")
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise EnvFailed(f"{what} failed: {''.join(last) or f'exit code {done.returncode}'}")
        return done.stdout.strip()

    def version(self) -> str:
        return self.ask("version", "--format", "{{.Client.Version}}")


def find(settings: Containers) -> Engine | None:
    """Return the engine that the user names, else the first on the PATH. Nothing is started."""
    for name in (settings.engine,) if settings.engine else KNOWN:
        path = shutil.which(os.path.expanduser(name))  # noqa: PTH111 - Path would take "podman" for a file in this folder
        if path is not None:
            return Engine(path, settings)
    return None


def missing(settings: Containers) -> str | None:
    """Say why this host has no engine, as the rest of a sentence; None where it has one."""
    if find(settings) is not None:
        return None
    if settings.engine:
        return f"containers.engine is '{settings.engine}', which is no program here"
    return "this host has neither podman nor docker: install podman, for example `apt install podman`"
