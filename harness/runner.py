"""Measuring a plan: group by group, all frameworks of a group alive together, their blocks alternating.

Alternation is what makes rates comparable on a machine whose speed drifts: each framework meets the same moments, in an
order that is drawn anew each round. In which order they start is drawn as well, for every process anew.
Only one worker runs at a time; the others are stopped, since the thread pool of an idle framework may spin.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Any

import psutil

from harness import interrupts, memory, pictures, protocols, staging
from harness.adapters import Adapter
from harness.config import Suite
from harness.core.jobs import Job
from harness.core.models import MODELS
from harness.envs.base import EnvFailed, Environment
from harness.envs.provision import Need, Outcome
from harness.journal import Journal
from harness.matrix import Cell, Planned
from harness.rival import LIMITS, PROOFS, Rival, Tell, done, job_of, prove
from harness.statuses import Status
from harness.worker import Worker, WorkerFailed


class Room:
    """Guesses whether memory does for one more worker, from what the largest one took so far.

    Where memory runs out, the kernel kills whom it likes: that must not come to pass.
    """

    MARGIN = 1.5  # proofs and builds need more for a while than what stays

    def __init__(self) -> None:
        self._free = int(psutil.virtual_memory().available)
        self._largest = 0

    def look(self) -> None:
        """Note what the worker started last has taken."""
        free = int(psutil.virtual_memory().available)
        self._largest = max(self._largest, self._free - free)
        self._free = free

    def for_another(self) -> bool:
        return self._free > self.MARGIN * self._largest


# Rounds of a cell that was measured alone, or when the run was resumed, have numbers that no rival's have: they are no pairs.
ROUNDS_APART = 1_000_000
SESSIONS_APART = 1_000 * ROUNDS_APART


class Runner:
    """Measures planned cells and writes every event to the journal.

    ``session`` is 0 for a new run, and counts how often it was resumed. ``proofs`` are answers of parity that were had before, by
    ``Cell.proof``.
    """

    def __init__(
        self,
        journal: Journal,
        adapters: dict[str, Adapter],
        outcomes: dict[Need, Outcome],
        cpus: list[int],
        suite: Suite,
        tell: Tell,
        session: int = 0,
        proofs: Mapping[tuple[str, ...], dict[str, Any]] | None = None,
    ) -> None:
        self.journal = journal
        self.adapters = adapters
        self.outcomes = outcomes
        self.cpus = cpus
        self.suite = suite
        self.measure = suite.measure
        self.rounds = protocols.rounds(suite)
        self.tell = tell
        self._first_round = session * SESSIONS_APART
        self._draw = random.Random()  # of the group and the process at hand
        self._alive: list[Rival] = []
        self._ended: set[str] = set()
        self._later: list[tuple[Cell, str]] = []  # cells to be measured alone, and what a first attempt failed of
        self._parity: dict[tuple[str, ...], dict[str, Any]] = dict(proofs or {})  # answers of proofs that several cells share

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
        self._ended.add(cell.key)
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
        for process in range(self.measure.processes):
            cells = [item.cell for item in group if item.cell.key not in self._ended]
            self._process(cells, process)
        for item in group:
            if item.cell.key not in self._ended:
                self._end(item.cell, Status.OK, "")

    def _process(self, cells: list[Cell], process: int) -> None:
        """Give every cell a fresh worker, alternate their blocks, and let the workers go; then those that had no room, alone."""
        self._later = []
        if not cells:
            return
        # Not the same draws for every cell, lest one order favour the same framework in a whole table.
        self._draw = random.Random(f"{self.suite.seed} {cells[0].group} {process}")
        baseline = next((cell for cell in cells if cell.adapter == self.suite.compared_with and cell.copy_number == 1), None)
        self._together(self._draw.sample(cells, len(cells)), process, self._first_round, baseline)
        for number, (cell, reason) in enumerate(self._later, start=1):
            self.journal.write("alone", cell=cell.key, process=process, reason=reason)
            self._together([cell], process, self._first_round + number * ROUNDS_APART)

    def _together(self, cells: list[Cell], process: int, first_round: int, baseline: Cell | None = None) -> None:
        room = Room()
        for cell in cells:
            while self._alive and not room.for_another() and cell is baseline:  # without it nobody would have a ratio
                last = self._alive[-1]
                self._dismiss(last)
                self._put_off(last.cell, "")
                room.look()
            if self._alive and not room.for_another():
                self._put_off(cell, "")
                continue
            outcome = self.outcomes[cell.adapter, cell.device_kind]
            assert not isinstance(outcome, EnvFailed)
            self._prepare(cell, outcome, process)
            room.look()
        if self._alive:
            names = ", ".join(rival.cell.name for rival in self._alive)
            self.tell("/".join(str(part) for part in cells[0].group if part is not None), f"measuring {names} in alternating blocks")
        self._alternate(first_round)
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
            with interrupts.postponed():
                beside = len(self._alive) > 1
                self._dismiss(rival)
                if failure.status is Status.OOM and beside:  # the memory may do for one
                    self._put_off(rival.cell, failure.reason)
                else:
                    self._end(rival.cell, failure.status, failure.reason)

    def _put_off(self, cell: Cell, reason: str) -> None:
        """Have a cell measured alone later. The reason is that of a first attempt, and empty where there was none."""
        self._later.append((cell, reason))
        why = f" ({reason})" if reason else ""
        self.tell(cell.key, f"there is no memory for it beside its rivals{why}; it will be measured alone")

    def _dismiss(self, rival: Rival) -> None:
        """End a rival's worker, before anything else runs: a hung one would spoil the next cell."""
        with interrupts.postponed():
            rival.worker.end()
            self._alive.remove(rival)

    def _prepare(self, cell: Cell, environment: Environment, process: int) -> None:
        """Start a worker, prove what is to be proved, warm up. A rival that fails is gone afterwards."""
        phases = tuple(PROOFS)[min(process, 1) :]
        if process == 0 and (self.suite.protocol == "latency" or cell.proof in self._parity):
            # Its memory is to be seen, so the proof has a worker of its own; and a sweep over batches needs but one proof.
            if cell.proof in self._parity:
                self.journal.write("parity", cell=cell.key, process=process, **self._parity[cell.proof])
            else:
                self._launch(cell, environment, process, self._prove_apart)
            if cell.proof not in self._parity:
                return
            phases = tuple(PROOFS)[1:]
        with memory.watch(cell.device) as seen:
            self._launch(cell, environment, process, lambda rival: self._prove_and_warm_up(rival, phases))
        if seen.found:
            self.journal.write("device-memory", cell=cell.key, process=process, **seen.found)

    def _launch(self, cell: Cell, environment: Environment, process: int, action: Callable[[Rival], None]) -> None:
        """Start a worker for ``cell`` and do ``action`` with it."""
        staged, code = staging.stage(self.adapters[cell.adapter])
        log = self.journal.folder / "logs" / (cell.key.replace("/", "_") + ".log")
        self.journal.write(
            "cell-started", cell=cell.key, process=process, code=code, environment=environment.fingerprint, python=str(environment.python)
        )
        try:
            with interrupts.postponed():
                worker = Worker(environment.launch(staged, self._cpus(cell), cell.device), log)
                rival = Rival(cell, worker, self.journal, process)
                self._alive.append(rival)
        except OSError as error:
            self._end(cell, Status.ENV_FAILED, f"the worker cannot be started: {error.filename or environment.python}: {error.strerror}")
            return
        self._guard(rival, action)

    def _cpus(self, cell: Cell) -> list[int]:
        return self.cpus[: cell.threads]

    def _job(self, cell: Cell) -> Job:
        own = self.suite.images if MODELS[cell.model].generates else None
        images = pictures.packed(Path(own), cell.size) if own else None
        return job_of(cell, self.adapters[cell.adapter], self._cpus(cell), self.suite.seed, images=images)

    def _prove_apart(self, rival: Rival) -> None:
        self._parity[rival.cell.proof] = prove(rival, self._job(rival.cell), self.tell, ("parity",))
        self._dismiss(rival)

    def _prove_and_warm_up(self, rival: Rival, phases: Sequence[str]) -> None:
        answer = prove(rival, self._job(rival.cell), self.tell, phases)
        self.tell(rival.cell.key, "warming up")
        rival.warm_up(self.measure, done(answer))

    def _alternate(self, first_round: int) -> None:
        """Run rounds, in which each has its turn, until all are done or out of budget.

        The order within a round is drawn: noise that comes and goes at regular times would otherwise hit
        the same rival again and again, and no interval could know. Who has budget goes on while anybody is not done, so that
        rounds have pairs.
        """
        for number in count(first_round):
            able = [rival for rival in self._alive if self.rounds.has_budget(rival)]
            if not able or all(map(self.rounds.is_done, able)):
                return
            for rival in self._draw.sample(able, len(able)):
                self._guard(rival, lambda rival, number=number: self.rounds.turn(rival, number, len(self._alive)))  # type: ignore[misc]

    def _finish(self, rival: Rival) -> None:
        rival.ask({"do": "finish"}, LIMITS["finish"])
        self._dismiss(rival)
