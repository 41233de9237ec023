"""Images of the harness's own: built once from an adapter's Containerfile and lock, named by the hash of both."""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import filelock

from harness import paths
from harness.adapters import Adapter
from harness.envs import pipconf
from harness.envs.base import EnvFailed
from harness.envs.engine import Engine

BUILD_LIMIT = 3600.0  # seconds
LAYOUT = 1  # raise to build every image anew
PREFIX = "localhost/framework-harness/"  # "localhost" keeps an engine from looking for it at a registry


def tag(adapter: Adapter, kind: str) -> str:
    """The image's name: a change of what it is made of makes a new one, so a stale one is never used."""
    containerfile = adapter.containerfile(kind)
    assert containerfile is not None
    inputs = {
        "layout": LAYOUT,
        "containerfile": containerfile.read_text(encoding="utf-8"),
        "lock": adapter.lock(kind).read_text(encoding="utf-8"),
        "platform": f"{platform.system()}-{platform.machine()}",
    }
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    return f"{PREFIX}{adapter.name}-{kind}:{digest[:16]}"


def identity(engine: Engine, reference: str) -> str | None:
    """The identifier of an image that is on this host."""
    try:
        return engine.ask("image", "inspect", "--format", "{{.Id}}", reference)
    except EnvFailed:
        return None


def provide(engine: Engine, adapter: Adapter, kind: str) -> str:
    """Return the tag of the adapter's image, building it first if need be; raise ``EnvFailed``.

    Another process that builds the same one is waited for.
    """
    name = tag(adapter, kind)
    if identity(engine, name) is None:
        home = paths.cache() / "images" / name.removeprefix(PREFIX).replace(":", "-")
        try:
            home.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(f"{home}.lock"):
                if identity(engine, name) is None:
                    _build(engine, adapter, kind, name, Path(f"{home}.log"))
        except OSError as error:
            raise EnvFailed(f"the image cannot be built: {error.filename or home}: {error.strerror}")
    return name


def _build(engine: Engine, adapter: Adapter, kind: str, name: str, log: Path) -> None:
    containerfile = adapter.containerfile(kind)
    assert containerfile is not None
    with tempfile.TemporaryDirectory() as folder, log.open("w", encoding="utf-8") as file:
        context, secret = Path(folder) / "context", Path(folder) / "pip.conf"
        context.mkdir()
        shutil.copyfile(containerfile, context / "Containerfile")
        shutil.copyfile(adapter.lock(kind), context / "requirements.txt")
        configuration = pipconf.for_image(pipconf.read(), mounts=engine.name == "podman")  # docker's builder mounts nothing of the host
        secret.write_text(configuration.text, encoding="utf-8")
        mounts = [option for place in configuration.places for option in ("--volume", f"{place}:{place}:ro")]
        command = engine.command(
            "build",
            *("--file", str(context / "Containerfile")),
            *("--tag", name),
            *("--secret", f"id=pip.conf,src={secret}"),  # seen by the steps that ask for it, and in no layer
            *mounts,
            *engine.settings.build_flags,
            str(context),
        )
        file.write(f"$ {' '.join(command)}\n")
        file.flush()
        _run(command, log)


def _run(command: list[str], log: Path) -> None:
    """Run a build, its words going to the log."""
    variables = {**os.environ, "DOCKER_BUILDKIT": "1"}  # docker's older builder knows no secrets
    try:
        with log.open("ab") as file:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=variables, check=False, timeout=BUILD_LIMIT
            )
    except subprocess.TimeoutExpired:
        raise EnvFailed(f"the image could not be built: it took longer than {BUILD_LIMIT:.0f} s", log)
    if done.returncode != 0:
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise EnvFailed(f"the image could not be built: {' '.join(line.strip() for line in last)}", log)


class Built(NamedTuple):
    """An image of the harness's own on this host."""

    name: str  # without the part that all have in common
    size: str


def built(engine: Engine) -> list[Built]:
    """Every image of the harness's own."""
    lines = engine.ask("images", "--format", "{{.Repository}}:{{.Tag}} {{.Size}}").splitlines()
    found = [line.partition(" ") for line in sorted(lines) if line.startswith(PREFIX)]
    return [Built(name.removeprefix(PREFIX), size) for name, _, size in found]


def remove(engine: Engine, name: str) -> None:
    """Delete one image by its name in ``built``; raise ``EnvFailed`` where a container still uses it."""
    engine.ask("rmi", PREFIX + name)
    with contextlib.suppress(OSError):
        (paths.cache() / "images" / (name.replace(":", "-") + ".log")).unlink()
