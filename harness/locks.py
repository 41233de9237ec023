"""One user of a device at a time. The kernel lets a lock go when its holder dies, however it dies."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import filelock

from harness import devices, hostinfo, paths
from harness.errors import UserError


@contextlib.contextmanager
def held(wanted: Sequence[str], wait: bool) -> Iterator[None]:
    """Hold the locks of the CPUs, which every cell uses, and of the GPUs among ``wanted``; raise ``UserError`` naming the holder.

    With ``wait``, wait for them instead. They are those of one user's cache: what others do on the host shows in the noise flags.
    """
    names = ["cpu", *sorted({f"gpu-{hostinfo.gpu_index(device)}" for device in wanted if devices.kind(device) != "cpu"})] if wanted else []
    folder = paths.cache() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made: {error.strerror}. Set HARNESS_CACHE to a folder that can be written.")
    with contextlib.ExitStack() as stack:
        for name in names:  # in the same order everywhere, so that two never wait for each other
            stack.enter_context(_held(folder / name, f"device {name}", wait, "Wait for it with --wait, or end it."))
        yield


@contextlib.contextmanager
def of_run(folder: Path) -> Iterator[None]:
    """Hold a run's folder, since two writers would spoil its events; raise ``UserError`` naming the holder."""
    with _held(folder / "in-use", f"run {folder}", False, "One may write it at a time."):
        yield


@contextlib.contextmanager
def _held(path: Path, what: str, wait: bool, way_out: str) -> Iterator[None]:
    """Hold ``path``.lock; ``path``.json tells who does."""
    lock, holder = filelock.FileLock(f"{path}.lock"), Path(f"{path}.json")
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except filelock.Timeout:
        raise UserError(f"{what} is in use by {_told(holder)}. {way_out}")
    except OSError as error:
        raise UserError(f"{lock.lock_file}: cannot be written: {error.strerror}.")
    try:
        with contextlib.suppress(OSError):  # who it is may stay unknown
            holder.write_text(json.dumps({"process": os.getpid(), "since": time.strftime("%H:%M:%S")}), encoding="utf-8")
        yield
    finally:
        with contextlib.suppress(OSError):
            holder.unlink()
        lock.release()


def _told(holder: Path) -> str:
    try:
        record = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {record['process']}, since {record['since']}"
    except (OSError, ValueError, KeyError):  # it has just begun, or just ended
        return "another run"
