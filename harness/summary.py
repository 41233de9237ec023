"""What the events of one cell come to: status, rate, blocks, flags. A pure function, so that any machine gives the same digits."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from harness import checks, events, flags
from harness.config import Measure
from harness.events import Check
from harness.matrix import Cell
from harness.stats import Rate, rate
from harness.statuses import Status


class Memory(NamedTuple):
    """Most bytes that a cell took, over its processes. None: nobody counted.

    ``device`` is what was in use on the whole GPU above the baseline before the worker, in ``samples`` samples ``interval`` seconds
    apart; ``allocated`` what the framework's own allocator had handed out; ``resident`` what the worker had in host memory.
    """

    device: int | None
    samples: int
    interval: float
    allocated: int | None
    resident: int | None


class Block(msgspec.Struct, frozen=True, gc=False):
    """One timed block: in which process and round it ran, its rate, how many cores others used meanwhile, and what NVML said.

    ``time`` is that of its end, in seconds since 1970. Where each step was timed by itself, ``latencies`` are their seconds.
    """

    process: int
    round: int
    rate: float
    others: float | None
    throttled: tuple[str, ...] = ()
    gpu_processes: int = 0
    steps: int = 0
    seconds: float = 0.0
    time: float = 0.0
    latencies: tuple[float, ...] = ()
    sweep: int = 0
    repeat: int = 0


class CellResult(msgspec.Struct, frozen=True, gc=False):
    """What the events say about one cell. ``flags`` are blemishes that a reader should know, with their numbers."""

    cell: Cell
    status: Status
    reason: str = ""
    rate: Rate | None = None
    blocks: tuple[Block, ...] = ()
    flags: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    ledger: dict[str, Any] = {}
    python: str = ""  # the worker's version
    first_step_seconds: float | None = None
    cpu_per_wall: float | None = None
    memory: Memory = Memory(None, 0, 0.0, None, None)
    rss_since_build: bool = False  # whether the resident memory is without that of proofs
    losses: tuple[float | None, float | None] = (None, None)  # of the first and the last step, in the first process


Ledgers = Callable[[msgspec.Raw], dict[str, Any]]  # reads the settings of a ledger
Kind = TypeVar("Kind", bound=events.OfCell)


class _Sorted:
    """Events by their kind."""

    def __init__(self, happened: Sequence[events.OfCell]) -> None:
        self._kinds: dict[type, list[Any]] = {}
        for event in happened:
            self._kinds.setdefault(type(event), []).append(event)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return self._kinds.get(kind, [])


def summarise(cell: Cell, happened: Sequence[events.OfCell], measure: Measure, threads: int, ledger: Ledgers) -> CellResult:
    """Return what the events say about ``cell``, judged by ``checks``."""
    kinds = _Sorted(happened)
    if kinds.of(events.Alone):
        kinds = _Sorted(_of_last_attempts(happened))
    built, finished, ended = kinds.of(events.Built), kinds.of(events.Finished), kinds.of(events.Ended)
    proofs: list[events.Proved | events.Built | events.Synced] = [*kinds.of(events.Proved), *built, *kinds.of(events.Synced)]
    compared = [check for event in proofs for check in event.checks]
    result = CellResult(
        cell=cell,
        status=Status(ended[-1].status) if ended else Status.INTERRUPTED,
        reason=ended[-1].reason if ended else "the run ended before this cell did",
        checks=tuple(compared),
        ledger=ledger(built[-1].ledger) if built else {},
        python=next((event.python for event in kinds.of(events.Ready)), ""),
        first_step_seconds=built[-1].first_step_seconds if built else None,
        memory=_memory(kinds.of(events.Sampled), finished),
        rss_since_build=finished[-1].peak_rss_since_build if finished else False,
        losses=(built[0].loss if built else None, finished[0].loss if finished else None),
    )
    if result.status is not Status.OK:
        return result
    timed = [event for event in kinds.of(events.Block) if event.label == "timed"]
    steps, seconds = [event.steps for event in timed], [event.seconds for event in timed]
    work = built[-1].work or cell.batch
    speed = rate(steps, seconds, work)
    status, reason = checks.judge(compared, speed, all(event.finite for event in finished), measure)
    blocks = tuple(_block(event, number, work) for number, event in enumerate(timed))
    cpu = sum(event.cpu_seconds for event in timed) / sum(seconds)
    facts = flags.Facts(
        blocks=blocks,
        cpu_per_wall=cpu,
        threads=threads,
        sessions=[
            flags.Session(first, last, ledger(first.ledger), ledger(last.ledger)) for first, last in zip(built, finished, strict=False)
        ],
        step_seconds=min(time / count for time, count in zip(seconds, steps, strict=True)),
        alone=next((event.reason for event in kinds.of(events.Alone)), None),
        resumed=bool(kinds.of(events.Again)),
        rivals=max(event.alive for event in timed),
        warm_ups=kinds.of(events.WarmedUp),
    )
    measured = {"rate": speed, "cpu_per_wall": cpu, "blocks": blocks, "flags": flags.raised(facts)}
    return msgspec.structs.replace(result, status=status, reason=reason, **measured)


def _of_last_attempts(happened: Sequence[events.OfCell]) -> list[events.OfCell]:
    """Leave out what a process did before it was measured again, alone."""
    again = {event.process: number for number, event in enumerate(happened) if isinstance(event, events.Alone)}
    return [event for number, event in enumerate(happened) if number >= again.get(event.process, 0)]


def _block(event: events.Block, number: int, work: int) -> Block:
    return Block(
        process=event.process,
        round=number if event.round is None else event.round,
        rate=event.steps * work / event.seconds,
        others=event.others,
        throttled=event.gpu_throttled,
        gpu_processes=event.gpu_processes,
        steps=event.steps,
        seconds=event.seconds,
        time=event.time,
        latencies=event.latencies,
        sweep=event.sweep,
        repeat=event.repeat,
    )


def _memory(sampled: Sequence[events.Sampled], finished: Sequence[events.Finished]) -> Memory:
    """The most that any of a cell's processes took."""
    most = max(sampled, key=lambda event: event.peak - event.baseline, default=None)
    allocated = max((event.peak_allocated_bytes for event in finished if event.peak_allocated_bytes is not None), default=None)
    resident = max((event.peak_rss_bytes for event in finished if event.peak_rss_bytes is not None), default=None)
    if most is None:
        return Memory(None, 0, 0.0, allocated, resident)
    return Memory(most.peak - most.baseline, most.samples, most.interval, allocated, resident)
