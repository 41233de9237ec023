"""`harness doctor`: what on this host would make a number wrong or an install fail."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness import hostinfo, noise, paths
from harness.config import Containers
from harness.envs import container, engine, image
from harness.envs.base import EnvFailed


class Finding(NamedTuple):
    """One line: ``good`` is False where something deserves a look."""

    good: bool
    text: str


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB"


def examine(containers: Containers) -> Iterator[Finding]:
    """Yield findings about host, CPU set, memory, devices, engines, disk and noise."""
    host = hostinfo.describe()
    cpus = len(host["cpus"])
    yield Finding(True, f"host: {host['system']} {host['machine']}, {host['cpu']}, Python {host['python']}")
    yield Finding(True, f"CPU: {cpus} logical CPUs may be used")
    yield Finding(True, f"memory: {_size(host['memory_bytes'])}, swap {_size(host['swap_bytes'])}")
    for gpu in host["gpus"]:
        yield Finding(True, f"GPU {gpu['index']}: {gpu['name']}, {_size(gpu['memory_bytes'])}, driver {gpu['driver']}, {gpu['uuid']}")
    if not host["gpus"]:
        yield Finding(True, "GPU: no NVIDIA GPU found; cells on cuda are N/A")
    yield _engine(containers)
    yield from _disk("cache", paths.cache())
    yield from _disk("runs", paths.runs())
    yield from (Finding(False, f"noise: {warning}") for warning in noise.warnings(host))


def _engine(settings: Containers) -> Finding:
    """Whether containers can run, tried out where there is an image to try it with."""
    found = engine.find(settings)
    if found is None:
        return Finding(True, f"container engine: none, so cells that need one are N/A: {engine.missing(settings)}")
    try:
        named = f"container engine: {found.name} {found.version()} ({found.path})"
        images = image.built(found)
        if not images:
            found.ask("info")
            return Finding(True, f"{named} answers; no image of the harness's own to try it with")
        start = time.monotonic()
        container.probe(found, image.PREFIX + images[0].name)
        return Finding(True, f"{named} runs a container in {time.monotonic() - start:.1f} s")
    except EnvFailed as failure:
        return Finding(False, f"container engine: {found.path}: {failure.reason}")


def _disk(what: str, folder: Path) -> Iterator[Finding]:
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK):
        yield Finding(False, f"{what}: {folder} cannot be used: {there} is {'not writable' if there.is_dir() else 'no folder'}")
        return
    free = shutil.disk_usage(there).free
    yield Finding(
        free > 10 * 2**30,
        f"{what}: {folder}, {_size(free)} free" + ("" if free > 10 * 2**30 else "; environments need about 4 GiB for CPU, 20 for CUDA"),
    )
