"""One cell being measured: the host's account of its worker, from proof to blocks."""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from harness import checks, devices, noise
from harness.adapters import Adapter
from harness.config import Measure
from harness.core.jobs import Job
from harness.events import Check
from harness.journal import Journal
from harness.matrix import Cell
from harness.statuses import Status
from harness.worker import Worker, WorkerFailed

# Seconds allowed to each phase; compilers and 100-layer reference passes are what take long.
LIMITS = {"start": 300.0, "parity": 900.0, "build": 900.0, "sync": 900.0, "finish": 120.0}
BLOCK_LIMIT = 60.0  # seconds on top of twenty times the time that a block is expected to take

# Speed is steady when the last windows' step times have a coefficient of variation below a limit, as Georges, Buytaert and
# Eeckhout have it (Statistically rigorous Java performance evaluation, OOPSLA 2007, section 3.3).
STEADY_WINDOWS = 3
SHORTEST = 1e-9  # seconds that a step is taken for at least: one below the clock's resolution is no division by zero
FAR_OFF = 2.0  # times the length that a block should have
MOMENT = 0.1  # seconds that three windows take at least: shorter ones tell about the clock

Tell = Callable[[str, str], None]  # cell key and what is going on


def relative_spread(values: list[float]) -> float:
    """The coefficient of variation; infinite for fewer values than a verdict wants."""
    if len(values) < STEADY_WINDOWS:
        return math.inf
    return statistics.stdev(values) / statistics.mean(values)


class Done(NamedTuple):
    """What a session ran before its warm-up: seconds and steps in all, and the step times seen, shortest run first."""

    seconds: float
    steps: int
    step_seconds: tuple[float, ...]


class Rival:
    """A cell with its worker, and what its blocks have told so far."""

    def __init__(self, cell: Cell, worker: Worker, journal: Journal, process: int = 0) -> None:
        self.cell = cell
        self.worker = worker
        self.journal = journal
        self.process = process  # the number of the worker among those that the cell gets one after the other
        self.step_seconds = 0.0
        self.steps = 1
        self.timed: list[float] = []  # seconds of each timed block
        self.rates: list[float] = []  # steps a second of each

    def ask(self, request: dict[str, Any], limit: float, **extra: Any) -> dict[str, Any]:
        """Ask the worker, and write its answer to the journal under the cell's name."""
        event = self.worker.ask(request, limit)
        self.journal.write(event.pop("event"), cell=self.cell.key, process=self.process, **extra, **event)
        return event

    def block(self, request: dict[str, Any], expected: int, label: str, **extra: Any) -> float:
        """Have steps timed, about as many as ``expected``, and return their seconds."""
        limit = BLOCK_LIMIT + 20 * expected * self.step_seconds
        with noise.watch(self.cell.device) as seen:
            event = self.worker.ask(request, limit)
        fields = {**extra, **event, **seen.besides(event["cpu_seconds"])}
        self.journal.write(fields.pop("event"), cell=self.cell.key, process=self.process, label=label, **fields)
        self.step_seconds = max(event["seconds"] / event["steps"], SHORTEST)
        return float(event["seconds"])

    def warm_up(self, measure: Measure, done: Done) -> None:
        """Run windows of steps until both least time and least steps are reached and speed is steady, or the cap is.

        What the sync proof ran before was warm-up too. Then the size of a timed block is fixed.
        """
        seconds, total, windows = done.seconds, done.steps, list(done.step_seconds)
        steps, spread = 1, math.inf
        while True:
            seconds += self.block({"do": "block", "steps": steps}, steps, "warm-up")
            total += steps
            windows.append(self.step_seconds)
            spread = relative_spread(windows[-STEADY_WINDOWS:])
            enough = seconds >= measure.warmup_seconds and total >= measure.warmup_steps
            if (enough and spread <= measure.steady_within) or seconds >= max(measure.warmup_seconds, measure.warmup_cap_seconds):
                break
            window = max(measure.warmup_seconds, MOMENT) / STEADY_WINDOWS
            steps = max(1, min(2 * steps, math.ceil(window / self.step_seconds)))
        steady = spread <= measure.steady_within
        verdict = {"steady": steady, "spread": spread if math.isfinite(spread) else None, "steps": total, "seconds": seconds}
        self.journal.write("warmed-up", cell=self.cell.key, process=self.process, **verdict)
        self._fit(measure.block_seconds, windows[-STEADY_WINDOWS:])

    def _fit(self, seconds: float, step_seconds: Sequence[float]) -> None:
        """Fix how many steps a block has. The median, since a window may have met a stall of the host."""
        self.steps = max(1, round(seconds / max(statistics.median_low(step_seconds), SHORTEST)))

    def timed_block(self, request: dict[str, Any], expected: int, **extra: Any) -> None:
        """Have steps timed that count."""
        self.timed.append(self.block(request, expected, "timed", **extra))
        self.rates.append(1 / self.step_seconds)

    def refit(self, seconds: float) -> None:
        """Change the size of further blocks if the last one was far from ``seconds``: warm-up may have misled."""
        if not 1 / FAR_OFF < self.timed[-1] / seconds < FAR_OFF:
            self._fit(seconds, [1 / rate for rate in self.rates])


def job_of(cell: Cell, adapter: Adapter, cpus: list[int], seed: int, build: str = "lowered", images: dict[str, str] | None = None) -> Job:
    """Return the job document of ``cell``; ``build`` is "lowered", or "native" for the adapter's hand-written twin."""
    fields = {name: value for name, value in msgspec.structs.asdict(cell).items() if name not in ("adapter", "copy_number", "threads")}
    manifest = adapter.manifest
    fields.update(device=devices.inside(cell.device), package=manifest.package, gates=gates(manifest.gates, cell.precision), images=images)
    return Job(adapter=cell.adapter, cpus=tuple(cpus), seed=seed, build=build, **fields)


def gates(provable: tuple[str, ...], precision: str) -> tuple[str, ...]:
    """Return the precisions at which a cell's parity is proved first. TF32 is a switch of the whole process in some frameworks, so
    one that has it on proves nothing in IEEE float32."""
    return tuple(gate for gate in provable if (gate, precision) != ("fp32", "tf32")) or provable


PROOFS = {"parity": "proving parity", "build": "building", "sync": "proving the sync"}


def _silent(cell: str, news: str) -> None:
    """Tell nobody."""


def prove(rival: Rival, job: Job, tell: Tell = _silent, phases: Sequence[str] = tuple(PROOFS)) -> dict[str, Any]:
    """Start the job and go through ``phases``; return the last one's answer, raise ``WorkerFailed``.

    Parity is proved small, the build checked at full size, the sync proved on what was built. Parity is a property of code and
    environment: one worker of a cell proves it for all.
    """
    rival.ask(job.to_json(), LIMITS["start"])
    event: dict[str, Any] = {}
    for phase in phases:
        tell(rival.cell.key, PROOFS[phase])
        event = rival.ask({"do": phase}, LIMITS[phase])
        found = msgspec.convert(event["checks"], list[Check])
        status, failure = Status.PARITY_FAILED, checks.first_failure(found)
        if phase == "sync":
            status, failure = Status.SYNC_FAILED, checks.first_share(found)
        if failure:
            raise WorkerFailed(status, failure)
    return event


def done(sync: dict[str, Any]) -> Done:
    """What the sync proof ran, from its answer."""
    return Done(sync["seconds"], sync["steps"], tuple(timing["synced"] / timing["steps"] for timing in sync["timings"]))
