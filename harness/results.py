"""A run's folder: run.json (what was asked, of what, where), events.jsonl (the truth, append-only) and logs/.

Everything that a table says is a pure function of these two files.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from harness import __version__, checks, flags, paths
from harness.config import Measure, Suite
from harness.core.models import MODELS
from harness.errors import UserError
from harness.matrix import Cell
from harness.stats import Rate, rate
from harness.statuses import Status

# Of both files. 1: first version. Its "built" events have no "work" where they are older than models whose work is not the batch.
VERSION = 1


class Check(pydantic.BaseModel):
    """One comparison with the reference, as a worker reported it. An error that is not finite is None."""

    what: str
    error: float | None
    limit: float
    worst: str
    passed: bool


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


class Block(NamedTuple):
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


class CellResult(pydantic.BaseModel):
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


class Run(pydantic.BaseModel):
    """A whole run as tables want it."""

    folder: Path
    id: str
    suite: Suite
    suite_name: str
    host: dict[str, Any]
    threads: int
    titles: dict[str, str]  # of adapters
    cells: tuple[CellResult, ...]
    origin: dict[str, Any] = {}  # what planning needs besides the suite, so that the run can be resumed
    sessions: int = 1  # how often it was begun or resumed
    noise: tuple[str, ...] = ()  # what was found on the host before the run
    torn: bool = False  # the last line was cut by a kill and set aside


class Journal:
    """The writing end. Each event is one line, flushed, so that a kill loses at most the line being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = (folder / "events.jsonl").open("a", encoding="utf-8")

    def write(self, event: str, **fields: Any) -> None:
        self._file.write(json.dumps({"event": event, "time": round(time.time(), 3), **fields}, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def create(
    suite_name: str,
    suite: Suite,
    host: dict[str, Any],
    threads: int,
    titles: dict[str, str],
    command: list[str],
    origin: dict[str, Any] | None = None,
) -> Journal:
    """Make a new run folder and return its journal."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        name = f"{stamp}-{suite_name}" + (f"-{number}" if number > 1 else "")
        folder = paths.runs() / name
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"{folder}: cannot be made: {error.strerror}. Set HARNESS_RUNS to a folder that can be written.")
    (folder / "logs").mkdir()
    document = {
        "version": VERSION,
        "id": name,
        "harness": __version__,
        "suite_name": suite_name,
        "suite": suite.model_dump(mode="json"),
        "host": host,
        "threads": threads,
        "titles": titles,
        "command": command,
        "origin": origin or {},
    }
    partial = folder / "run.json.part"
    partial.write_text(json.dumps(document, indent=1), encoding="utf-8")
    partial.replace(folder / "run.json")
    return Journal(folder)


def reopen(folder: Path) -> Journal:
    """Return the journal of a run to go on with. A last line that a kill has cut is set aside first: it would spoil the next one."""
    path = folder / "events.jsonl"
    whole, end, torn = path.read_bytes().rpartition(b"\n")
    if torn:
        with (folder / "events.torn").open("ab") as aside:
            aside.write(torn + b"\n")
        partial = folder / "events.jsonl.part"
        partial.write_bytes(whole + end)
        partial.replace(path)
    return Journal(folder)


def find(name: str) -> Path:
    """Return the folder of a run, by its path, its name under the runs folder, or 'last'."""
    if name == "last":
        documents = sorted(paths.runs().glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
        if not documents:
            raise UserError(f"There are no runs in {paths.runs()} yet. Make one: harness run")
        return documents[-1].parent
    for folder in (Path(name), paths.runs() / name):
        if (folder / "run.json").is_file():
            return folder
    raise UserError(f"'{name}' is no run: neither {Path(name) / 'run.json'} nor {paths.runs() / name / 'run.json'} exists.")


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the events; a last line that was torn by a kill comes as ``{"event": "torn"}``."""
    path = folder / "events.jsonl"
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            event = json.loads(line)
            if not isinstance(event, dict) or not isinstance(event.get("event"), str):
                raise ValueError("it is no event")
        except ValueError as error:
            if number < len(lines):
                raise UserError(f"{path}:{number}: the file was changed after it was written: {error}.")
            event = {"event": "torn"}
        yield {**event, "line": number}


def load(folder: Path) -> Run:
    """Read a run; raise ``UserError`` for one that this version cannot read."""
    try:
        document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        version = document["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder / 'run.json'}: cannot be read: {error}.")
    if version != VERSION:
        raise UserError(f"{folder / 'run.json'}: is of version {version}; this harness reads {VERSION}. Use the harness that made it.")
    try:
        suite = Suite.model_validate(document["suite"])
        fields = {name: document[name] for name in ("id", "suite_name", "host", "threads", "titles")}
    except (KeyError, TypeError, pydantic.ValidationError) as error:
        raise UserError(f"{folder / 'run.json'}: was changed after it was written: {error}.")
    try:
        return _read(folder, suite, fields, document.get("origin", {}))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        told = " ".join(str(error).split())[:LONGEST]
        raise UserError(f"{folder}: its files were changed after they were written: {type(error).__name__}: {told}.")


LONGEST = 300  # characters of what is wrong with a changed file


def _read(folder: Path, suite: Suite, fields: dict[str, Any], origin: dict[str, Any]) -> Run:
    """What the files of a run say, if nobody changed them."""
    seen: dict[str, list[dict[str, Any]]] = {}
    cells: dict[str, Cell] = {}
    torn = False
    noise: tuple[str, ...] = ()
    sessions = 1
    for event in _events(folder):
        if event["event"] == "cell-planned":
            cell = Cell.model_validate(event["cell"])
            cells[cell.key] = cell
            seen[cell.key] = []
        elif "cell" in event:
            if event["cell"] not in seen:
                raise UserError(f"{folder / 'events.jsonl'}:{event['line']}: cell '{event['cell']}' was never planned.")
            seen[event["cell"]].append(event)
        elif event["event"] == "noise":
            noise = tuple(dict.fromkeys((*noise, *event["found"])))
        elif event["event"] == "resumed":
            sessions += 1
        torn = torn or event["event"] == "torn"
    results = tuple(summarise(cell, seen[key], suite.measure, cell.threads or fields["threads"]) for key, cell in cells.items())
    _check(results, fields["titles"], fields["host"])
    return Run(folder=folder, suite=suite, cells=results, noise=noise, torn=torn, sessions=sessions, origin=origin, **fields)


def _check(cells: tuple[CellResult, ...], titles: dict[str, str], host: dict[str, Any]) -> None:
    """Raise ``KeyError`` where something is missing that every table wants."""
    for needed in ("cpu", "gpus"):
        host[needed]
    for result in cells:
        titles[result.cell.adapter], MODELS[result.cell.model]
        for needed in ("framework", "version", "execution", "window") if result.ledger else ():
            result.ledger[needed]


def _memory(events: list[dict[str, Any]]) -> Memory:
    """The most that any of a cell's processes took."""
    sampled = max((event for event in events if event["event"] == "device-memory"), key=lambda e: e["peak"] - e["baseline"], default=None)
    finished = [event for event in events if event["event"] == "finished"]
    allocated = [event["peak_allocated_bytes"] for event in finished if event.get("peak_allocated_bytes") is not None]
    resident = [event["peak_rss_bytes"] for event in finished if event.get("peak_rss_bytes") is not None]
    return Memory(
        device=sampled["peak"] - sampled["baseline"] if sampled else None,
        samples=sampled["samples"] if sampled else 0,
        interval=sampled["interval"] if sampled else 0.0,
        allocated=max(allocated, default=None),
        resident=max(resident, default=None),
    )


def _of_last_attempts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what was before the cell was begun again in a resumed run, and what a process did before it was measured again, alone."""
    begun = max((number for number, event in enumerate(events) if event["event"] == "cell-again"), default=0)
    events = events[begun:]
    again = {event["process"]: number for number, event in enumerate(events) if event["event"] == "alone"}
    return [event for number, event in enumerate(events) if number >= again.get(event.get("process", 0), 0)]


def summarise(cell: Cell, events: list[dict[str, Any]], measure: Measure, threads: int) -> CellResult:
    """Return what ``events`` say about ``cell``, judged by ``checks``."""
    events = _of_last_attempts(events)
    by_kind = {event["event"]: event for event in events}
    compared = [Check.model_validate(check) for event in events for check in event.get("checks", ())]
    built = by_kind.get("built", {})
    result = CellResult(
        cell=cell,
        status=Status.INTERRUPTED,
        reason="the run ended before this cell did",
        checks=tuple(compared),
        ledger=built.get("ledger", {}),
        python=by_kind.get("ready", {}).get("python", ""),
        first_step_seconds=built.get("first_step_seconds"),
        memory=_memory(events),
        rss_since_build=by_kind.get("finished", {}).get("peak_rss_since_build", False),
        losses=tuple(next((e.get("loss") for e in events if e["event"] == kind), None) for kind in ("built", "finished")),
    )
    ended = by_kind.get("cell-ended")
    if ended is None:
        return result
    status, reason = Status(ended["status"]), str(ended["reason"])
    timed = [event for event in events if event["event"] == "block" and event["label"] == "timed"]
    if status is not Status.OK:
        return result.model_copy(update={"status": status, "reason": reason})
    steps, seconds = [event["steps"] for event in timed], [event["seconds"] for event in timed]
    work = built.get("work", cell.batch)
    speed = rate(steps, seconds, work)
    blocks = tuple(
        Block(
            event.get("process", 0),
            event.get("round", number),
            event["steps"] * work / event["seconds"],
            event.get("others"),
            tuple(event.get("gpu_throttled", ())),
            event.get("gpu_processes", 0),
            event["steps"],
            event["seconds"],
            event["time"],
            tuple(event.get("latencies", ())),
            event.get("sweep", 0),
            event.get("repeat", 0),
        )
        for number, event in enumerate(timed)
    )
    status, reason = checks.judge(compared, speed, all(event["finite"] for event in events if event["event"] == "finished"), measure)
    cpu = sum(event["cpu_seconds"] for event in timed) / sum(seconds)
    facts = flags.Facts(
        blocks=blocks,
        cpu_per_wall=cpu,
        threads=threads,
        sessions=[event for event in events if event["event"] in ("built", "finished")],
        step_seconds=min(time / count for time, count in zip(seconds, steps, strict=True)),
        alone="alone" in by_kind,
        resumed="cell-again" in by_kind,
        rivals=max(event.get("alive", 1) for event in timed),
        warm_ups=[event for event in events if event["event"] == "warmed-up"],
    )
    return result.model_copy(
        update={"status": status, "reason": reason, "rate": speed, "cpu_per_wall": cpu, "blocks": blocks, "flags": flags.raised(facts)}
    )
