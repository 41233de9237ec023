"""Virtual environments of the harness's own: made once per lock file, in the cache folder, by uv."""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import filelock
from packaging.specifiers import SpecifierSet

from harness import paths
from harness.adapters import Adapter
from harness.envs import pipconf
from harness.envs.base import EnvFailed
from harness.envs.process import ProcessEnvironment

INSTALL_LIMIT = 3600.0  # seconds; CUDA builds are several gigabytes
COMPLETE = "complete.json"  # written last: a folder without it is half made
LAYOUT = 1  # raise to make every environment anew


def definition(adapter: Adapter, kind: str, python: str | None) -> dict[str, Any]:
    """What an environment is made of. Its hash is the environment's name, so a change makes a new one."""
    spec = adapter.manifest.devices[kind]  # type: ignore[index]  # kind comes from a planned cell
    return {
        "layout": LAYOUT,
        "lock": adapter.lock(kind).read_text(encoding="utf-8"),
        "fallback_index": spec.fallback_index,
        "python": python or requested_python(adapter.manifest.python),
        "platform": f"{platform.system()}-{platform.machine()}",
    }


def requested_python(versions: str) -> str:
    """The version of the running Python where it fits ``versions``, else the range itself."""
    running = platform.python_version()
    return running if SpecifierSet(versions).contains(running) else versions


def _base_python(wanted: str) -> str:
    """What uv makes the environment from: this very Python, which need not be on the PATH, or one for it to find or fetch."""
    return sys.executable if wanted == platform.python_version() else wanted


def folder(adapter: Adapter, kind: str, python: str | None = None) -> Path:
    text = json.dumps(definition(adapter, kind, python), sort_keys=True)
    return paths.cache() / "envs" / f"{adapter.name}-{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def existing(adapter: Adapter, kind: str, python: str | None = None) -> ProcessEnvironment | None:
    """Return the environment if it is whole."""
    home = folder(adapter, kind, python)
    try:
        fingerprint = json.loads((home / COMPLETE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    python_there = home / "bin" / "python"
    if not python_there.exists():  # a link to a Python that is gone
        return None
    return ProcessEnvironment(adapter=adapter.name, kind="venv", python=python_there, fingerprint=fingerprint)


def provide(adapter: Adapter, kind: str, python: str | None = None) -> ProcessEnvironment:
    """Return the environment, making it first if need be; raise ``EnvFailed``.

    Another process that makes the same one is waited for. The lock is the kernel's, so it goes with its holder.
    """
    found = existing(adapter, kind, python)
    if found is not None:
        return found
    home = folder(adapter, kind, python)
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(str(home) + ".lock"):
            found = existing(adapter, kind, python)
            if found is None:
                _make(adapter, kind, python, home)
                found = existing(adapter, kind, python)
    except OSError as error:
        raise EnvFailed(f"the environment's folder {home} cannot be written: {error.strerror}")
    assert found is not None
    return found


def _make(adapter: Adapter, kind: str, python: str | None, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)  # what a killed process left half made
    _check_room(adapter.manifest.devices[kind].disk_mib, home.parent)  # type: ignore[index]  # as above
    log = Path(str(home) + ".log")
    log.write_text("", encoding="utf-8")
    user = pipconf.installer(pipconf.read())
    wanted = definition(adapter, kind, python)
    _uv(["venv", "--quiet", "--python", _base_python(wanted["python"]), str(home)], user, log, f"no Python {wanted['python']} could be had")
    requirements, interpreter = home / "requirements.txt", str(home / "bin" / "python")
    requirements.write_text(wanted["lock"], encoding="utf-8")
    install = ["pip", "install", "--compile-bytecode", "--python", interpreter, "-r", str(requirements)]
    install += ["--build-constraints", str(requirements)]  # what builds a source distribution is held to the lock as well
    _install(install, user, wanted["fallback_index"], log)
    listing = _uv(["pip", "freeze", "--python", interpreter], user, log, "the packages could not be listed")
    fingerprint = {**wanted, "packages": listing.split(), "lock": hashlib.sha256(wanted["lock"].encode()).hexdigest()}
    paths.write_whole(home / COMPLETE, json.dumps(fingerprint, indent=1))


def _check_room(needed: int | None, folder: Path) -> None:
    """Raise ``EnvFailed`` unless ``folder`` has so many MiB left: better now than after gigabytes."""
    free = shutil.disk_usage(folder).free // 2**20
    if needed is not None and free < needed:
        way_out = "Free some, or set HARNESS_CACHE to a folder on another disk"
        raise EnvFailed(f"the environment takes about {needed:,} MiB, and {folder} has {free:,} MiB left. {way_out}")


def _install(command: list[str], user: pipconf.Installer, fallback: str | None, log: Path) -> None:
    """Install from where the user's pip looks; only where that has no such build, from the manifest's index as well."""
    try:
        _uv([*command, *user.options], user, log, "the packages could not be installed")
    except EnvFailed:
        if fallback is None or "--no-index" in user.options:
            raise
        _uv([*command, *user.options, "--index", fallback], user, log, "the packages could not be installed")


def _uv(arguments: list[str], user: pipconf.Installer, log: Path, failure: str) -> str:
    """Run uv, its output going to the log; return what it printed on standard output."""
    from uv import find_uv_bin

    command = [find_uv_bin(), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=INSTALL_LIMIT, env={**os.environ, **user.variables}
        )
    except subprocess.TimeoutExpired:
        raise EnvFailed(f"{failure}: uv ran longer than {INSTALL_LIMIT:.0f} s", log)
    with log.open("a", encoding="utf-8") as file:
        file.write(pipconf.without_passwords(f"$ uv {' '.join(arguments)}\n{done.stdout}{done.stderr}"))
    if done.returncode != 0:
        last = " ".join(line.strip(" │├╰─▶×╴") for line in done.stderr.strip().splitlines()[-3:])
        raise EnvFailed(f"{failure}: {pipconf.without_passwords(last)}", log)
    return done.stdout


def installed() -> list[tuple[Path, dict[str, Any]]]:
    """Every whole environment in the cache, with its fingerprint."""
    found = []
    for marker in sorted((paths.cache() / "envs").glob(f"*/{COMPLETE}")):
        with contextlib.suppress(OSError, ValueError):
            found.append((marker.parent, json.loads(marker.read_text(encoding="utf-8"))))
    return found


def remove(home: Path) -> None:
    """Delete one environment, once nobody is making it."""
    with filelock.FileLock(str(home) + ".lock"):
        (home / COMPLETE).unlink(missing_ok=True)  # first: from here on it is not whole
        shutil.rmtree(home)
    Path(str(home) + ".log").unlink(missing_ok=True)
