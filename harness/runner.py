"""Measuring a plan: group by group, all frameworks of a group alive together, their blocks alternating.

Alternation is what makes rates comparable on a machine whose speed drifts: each framework meets the same moments.
Only one worker runs at a time; the others are stopped, since the thread pool of an idle framework may spin.
"""

import math
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from harness import checks, interrupts, matrix, staging
from harness.adapters import Adapter
from harness.config import Measure
from harness.core.jobs import Job
from harness.envs.base import EnvFailed, Environment
from harness.envs.provision import Need, Outcome
from harness.matrix import Cell, Planned
from harness.results import Check, Journal
from harness.statuses import Status
from harness.worker import Worker, WorkerFailed

# Seconds allowed to each phase; compilers and 100-layer reference passes are what take long.
LIMITS = {"start": 300.0, "parity": 900.0, "build": 900.0, "finish": 120.0}
BLOCK_LIMIT = 60.0  # seconds on top of twenty times the time that a block is expected to take

Tell = Callable[[str, str], None]  # cell key and what is going on


class Rival:
    """One cell being measured: its worker, and what the warm-up told about its speed."""

    def __init__(self, cell: Cell, worker: Worker, journal: Journal) -> None:
        self.cell = cell
        self.worker = worker
        self.journal = journal
        self.step_seconds = 0.0
        self.steps = 1
        self.blocks = 0

    def ask(self, request: dict[str, Any], limit: float, **extra: Any) -> dict[str, Any]:
        """Ask the worker, and write its answer to the journal under the cell's name."""
        event = self.worker.ask(request, limit)
        self.journal.write(event.pop("event"), cell=self.cell.key, **extra, **event)
        return event

    def block(self, steps: int, label: str) -> float:
        """Run a block of ``steps`` steps and return its seconds."""
        event = self.ask({"do": "block", "steps": steps}, BLOCK_LIMIT + 20 * steps * self.step_seconds, label=label)
        self.step_seconds = max(event["seconds"] / steps, 1e-9)  # a step below the clock's resolution is no division by zero
        return float(event["seconds"])

    def warm_up(self, measure: Measure) -> None:
        """Run growing blocks until both least time and least steps are reached, then fix the size of a timed block."""
        seconds, total, steps = 0.0, 0, 1
        while seconds < measure.warmup_seconds or total < measure.warmup_steps:
            seconds += self.block(steps, "warm-up")
            total += steps
            left = max(0.0, measure.warmup_seconds - seconds)
            steps = max(1, min(2 * steps, math.ceil(left / self.step_seconds)))
        self.steps = max(1, round(measure.block_seconds / self.step_seconds))
        self.blocks = matrix.blocks_within(measure, self.steps * self.step_seconds)


def job_of(cell: Cell, adapter: Adapter, cpus: list[int], seed: int, build: str = "lowered") -> Job:
    """Return the job document of ``cell``; ``build`` is "lowered", or "native" for the adapter's hand-written twin."""
    fields = cell.model_dump(exclude={"adapter"})
    manifest = adapter.manifest
    return Job(adapter=cell.adapter, package=manifest.package, cpus=tuple(cpus), seed=seed, gates=manifest.gates, build=build, **fields)


def _silent(cell: str, news: str) -> None:
    """Tell nobody."""


def prove(rival: Rival, job: Job, tell: Tell = _silent) -> None:
    """Start the job, prove parity small, build full size and check that; raise ``WorkerFailed`` where something differs."""
    rival.ask(job.to_json(), LIMITS["start"])
    for phase, news in (("parity", "proving parity"), ("build", "building")):
        tell(rival.cell.key, news)
        event = rival.ask({"do": phase}, LIMITS[phase])
        failure = checks.first_failure([Check.model_validate(check) for check in event["checks"]])
        if failure:
            raise WorkerFailed(Status.PARITY_FAILED, failure)


class Runner:
    """Measures planned cells and writes every event to the journal."""

    def __init__(
        self,
        journal: Journal,
        adapters: dict[str, Adapter],
        outcomes: dict[Need, Outcome],
        cpus: list[int],
        measure: Measure,
        seed: int,
        tell: Tell,
    ) -> None:
        self.journal = journal
        self.adapters = adapters
        self.outcomes = outcomes
        self.cpus = cpus
        self.measure = measure
        self.seed = seed
        self.tell = tell
        self._alive: list[Rival] = []

    def run(self, planned: list[Planned]) -> None:
        """Measure every cell; one cell's failure ends that cell alone. An interrupt ends the workers and goes on up."""
        try:
            for _, group in groupby(planned, key=lambda item: item.cell.group):
                self._group(list(group))
        except KeyboardInterrupt:
            self.journal.write("run-interrupted")
            raise
        finally:
            for rival in self._alive:
                rival.worker.end()
        self.journal.write("run-ended")

    def _end(self, cell: Cell, status: Status, reason: str) -> None:
        self.journal.write("cell-ended", cell=cell.key, status=status, reason=reason)
        self.tell(cell.key, f"{status}: {reason}" if reason else "measured")

    def _group(self, group: list[Planned]) -> None:
        for item in group:
            if item.reason is not None:
                self._end(item.cell, Status.UNSUPPORTED, item.reason)
                continue
            outcome = self.outcomes[item.cell.adapter, item.cell.device_kind]
            if isinstance(outcome, EnvFailed):
                self._end(item.cell, Status.ENV_FAILED, outcome.reason + (f" (log: {outcome.log})" if outcome.log else ""))
            else:
                self._prepare(item.cell, outcome)
        if self._alive:
            names = ", ".join(f"{rival.cell.adapter} {rival.cell.variant}" for rival in self._alive)
            self.tell("/".join(map(str, group[0].cell.group)), f"measuring {names} in alternating blocks")
        for rival in self._rounds():
            self._guard(rival, self._timed_block)
        for rival in list(self._alive):
            self._guard(rival, self._finish)

    def _guard(self, rival: Rival, action: Callable[[Rival], None]) -> None:
        """Do something with a rival that is awake meanwhile; if it fails, end its cell and its worker."""
        try:
            rival.worker.wake()
            action(rival)
            if rival in self._alive:
                rival.worker.park()
        except WorkerFailed as failure:
            self._dismiss(rival, failure.status, failure.reason)

    def _dismiss(self, rival: Rival, status: Status, reason: str) -> None:
        """End a rival's worker, before anything else runs: a hung one would spoil the next cell. Then end its cell."""
        with interrupts.postponed():
            rival.worker.end()
            self._alive.remove(rival)
            self._end(rival.cell, status, reason)

    def _prepare(self, cell: Cell, environment: Environment) -> None:
        """Start a worker, prove parity, build, warm up. A rival that fails is gone afterwards."""
        staged, code = staging.stage(self.adapters[cell.adapter])
        log = self.journal.folder / "logs" / (cell.key.replace("/", "_") + ".log")
        self.journal.write("cell-started", cell=cell.key, code=code, environment=environment.fingerprint, python=str(environment.python))
        try:
            with interrupts.postponed():
                worker = Worker(environment.launch(staged, self.cpus, cell.device), log)
                rival = Rival(cell, worker, self.journal)
                self._alive.append(rival)
        except OSError as error:
            self._end(cell, Status.ENV_FAILED, f"{environment.python} cannot be started: {error.strerror}")
            return
        self._guard(rival, self._prove_and_warm_up)

    def _prove_and_warm_up(self, rival: Rival) -> None:
        prove(rival, job_of(rival.cell, self.adapters[rival.cell.adapter], self.cpus, self.seed), self.tell)
        self.tell(rival.cell.key, "warming up")
        rival.warm_up(self.measure)

    def _rounds(self) -> Iterator[Rival]:
        """Yield whose turn it is: A B C, C B A, A B C ... while blocks are left. Neighbours of one round form a pair."""
        for number in range(self.measure.blocks):
            order = self._alive if number % 2 == 0 else self._alive[::-1]
            for rival in list(order):
                if number < rival.blocks:
                    yield rival

    def _timed_block(self, rival: Rival) -> None:
        rival.block(1, "settle")  # caches and thread pools are cold after a stop
        rival.block(rival.steps, "timed")

    def _finish(self, rival: Rival) -> None:
        rival.ask({"do": "finish"}, LIMITS["finish"])
        self._dismiss(rival, Status.OK, "")
