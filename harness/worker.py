"""The host's end of a worker: start it, ask it, park it, end it."""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import hostinfo
from harness.core.failures import OUT_OF_MEMORY
from harness.envs.base import EnvFailed, Launch
from harness.statuses import Status


class WorkerFailed(Exception):
    """A worker ended a cell: its own report of a failure, its death, or a time limit."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason


class Worker:
    """One worker, whatever it runs in. Requests and events are lines of JSON on the pipes of the process that was started for it."""

    def __init__(self, launch: Launch, log: Path) -> None:
        self.log = log
        self._keeper = launch.keeper
        self._pending = b""
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                launch.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=launch.variables,
                cwd="/",
                start_new_session=True,
            )
        if launch.memory is not None:  # it waits for its job, so nothing large is there yet
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (launch.memory, launch.memory))
        self._oom_kills = hostinfo.oom_kills()

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """Send ``request`` and return the event that answers it within ``limit`` seconds; raise ``WorkerFailed``."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._death()
        event = json.loads(self._line(limit, str(request.get("do", "start"))))
        if event["event"] == "failed":
            raise WorkerFailed(Status(event["status"]), event["reason"])
        assert isinstance(event, dict)
        return event

    def _line(self, limit: float, phase: str) -> bytes:
        assert self._process.stdout is not None
        pipe, deadline = self._process.stdout.fileno(), time.monotonic() + limit
        while b"\n" not in self._pending:
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise WorkerFailed(Status.TIMEOUT, f"{phase} took longer than {limit:.0f} s")
            chunk = os.read(pipe, 65536)
            if not chunk:
                raise self._death()
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _death(self) -> WorkerFailed:
        code = self._process.wait()
        status, how = self._keeper.death(code)
        last = self.log_tail(1)
        if status is Status.CRASHED and self._memory_ran_out(code):
            status, how = Status.OOM, f"{how} for want of memory"
        return WorkerFailed(status, f"the worker was {how}" + (f"; its last words: {last}" if last else "") + f" (log: {self.log})")

    def _memory_ran_out(self, code: int) -> bool:
        """Whether the kernel killed for want of memory meanwhile, or the last words are an allocator's: some end the process themselves."""
        words = self.log_tail(20).lower()
        return (code == -signal.SIGKILL and hostinfo.oom_kills() > self._oom_kills) or any(phrase in words for phrase in OUT_OF_MEMORY)

    def log_tail(self, lines: int) -> str:
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 4096))
            tail = file.read().decode("utf-8", "replace").strip().splitlines()
        return "\n".join(tail[-lines:])

    def park(self) -> None:
        """Stop the worker and everything it started; raise ``WorkerFailed``, since one that runs on would spoil its rivals' numbers."""
        self._keep(self._keeper.park)

    def wake(self) -> None:
        self._keep(self._keeper.wake)

    def _keep(self, action: "Callable[[subprocess.Popen[bytes]], None]") -> None:
        try:
            action(self._process)
        except EnvFailed as failure:
            raise WorkerFailed(Status.ENV_FAILED, failure.reason)

    def end(self) -> None:
        """End the worker and everything it started."""
        self._keeper.end(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # a request that the dead worker never read
                    pipe.close()
