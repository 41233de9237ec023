"""The events of a run as typed records, one line of events.jsonl each. What is read of them is here; lines may hold more.

Fields that have a default are missing in some events: where they do not apply, or in runs older than they are.
"""

from typing import Annotated

import msgspec

from harness.matrix import Cell

Positive = Annotated[float, msgspec.Meta(gt=0)]
NO_LEDGER = msgspec.Raw(b"{}")  # a ledger stays JSON here: thousands of cells have the same one


class Check(msgspec.Struct, frozen=True, gc=False):
    """One comparison with the reference, as a worker reported it. An error that is not finite is None."""

    what: str
    error: float | None
    limit: float
    worst: str
    passed: bool


class Event(msgspec.Struct, frozen=True, tag_field="event", gc=False):
    """What all have."""


class Planned(Event, frozen=True, tag="cell-planned"):
    cell: Cell


class OfCell(Event, frozen=True):
    """What is about one cell, by its key; ``process`` is the number of the worker among those that the cell got."""

    cell: str
    process: int = 0


class Again(OfCell, frozen=True, tag="cell-again"):
    """The run was resumed and the cell begins anew."""


class Started(OfCell, frozen=True, tag="cell-started"):
    """A worker is being started. The line also tells code and environment."""


class Alone(OfCell, frozen=True, tag="alone"):
    """What the process did before counts no more: memory was short, and it begins anew without rivals."""

    reason: str = ""


class Ready(OfCell, frozen=True, tag="ready"):
    python: str = ""


class Proved(OfCell, frozen=True, tag="parity"):
    checks: tuple[Check, ...] = ()


class Built(OfCell, frozen=True, tag="built"):
    """``work`` is what one step is worth in the model's unit, and the batch where it is missing."""

    ledger: msgspec.Raw = NO_LEDGER
    checks: tuple[Check, ...] = ()
    first_step_seconds: float | None = None
    loss: float | None = None
    work: int | None = None


class Synced(OfCell, frozen=True, tag="sync"):
    checks: tuple[Check, ...] = ()


class Block(OfCell, frozen=True, tag="block", kw_only=True):
    """Steps that were timed; ``label`` says what for. ``time`` is that of their end, in seconds since 1970."""

    label: str
    steps: int
    seconds: Positive
    cpu_seconds: float
    time: float = 0.0
    round: int | None = None
    sweep: int = 0
    repeat: int = 0
    alive: int = 1
    others: float | None = None
    gpu_throttled: tuple[str, ...] = ()
    gpu_processes: int = 0
    latencies: tuple[float, ...] = ()


class WarmedUp(OfCell, frozen=True, tag="warmed-up", kw_only=True):
    steady: bool
    spread: float | None = None
    steps: int = 0
    seconds: float = 0.0


class Sampled(OfCell, frozen=True, tag="device-memory", kw_only=True):
    baseline: int
    peak: int
    samples: int
    interval: float


class Finished(OfCell, frozen=True, tag="finished", kw_only=True):
    finite: bool
    ledger: msgspec.Raw = NO_LEDGER
    loss: float | None = None
    subnormals: float = 0.0
    cpus: int | None = None
    peak_rss_bytes: int | None = None
    peak_rss_since_build: bool = False
    peak_allocated_bytes: int | None = None


class Ended(OfCell, frozen=True, tag="cell-ended", kw_only=True):
    status: str
    reason: str


class Noise(Event, frozen=True, tag="noise"):
    found: tuple[str, ...]


class Resumed(Event, frozen=True, tag="resumed"):
    """The run goes on after something ended it."""


class Interrupted(Event, frozen=True, tag="run-interrupted"):
    """By Ctrl-C, or by a polite kill."""


class RunEnded(Event, frozen=True, tag="run-ended"):
    """Nothing is left to do."""


AnyEvent = (
    Planned
    | Again
    | Started
    | Alone
    | Ready
    | Proved
    | Built
    | Synced
    | Block
    | WarmedUp
    | Sampled
    | Finished
    | Ended
    | Noise
    | Resumed
    | Interrupted
    | RunEnded
)
DECODER = msgspec.json.Decoder(AnyEvent)  # of one line; raises ``ValueError`` for what is none
