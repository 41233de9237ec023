"""Reading a run back. Everything that a table says is a pure function of its two files."""

import contextlib
import gc
import io
import json
import shlex
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pydantic

from harness import events, paths
from harness.config import EnvironmentSpec, Measure, Suite
from harness.core.models import MODELS
from harness.errors import UserError
from harness.journal import VERSION
from harness.statuses import Status
from harness.summary import CellResult, summarise


class Origin(pydantic.BaseModel):
    """Where a run's plan came from: the configuration file, and what was said on the command line."""

    config: Path
    environments: dict[str, EnvironmentSpec]
    try_gaps: bool


class Run(msgspec.Struct, frozen=True, dict=True):
    """A whole run as tables want it."""

    folder: Path
    id: str
    suite: Suite
    suite_name: str
    host: dict[str, Any]
    threads: int
    titles: dict[str, str]  # of adapters
    cells: tuple[CellResult, ...]
    command: str = ""  # as it would be typed
    harness: str = ""  # the version that began it
    origin: Origin | None = None  # what planning needs besides the suite, so that the run can be resumed
    sessions: int = 1  # how often it was begun or resumed
    noise: tuple[str, ...] = ()  # what was found on the host before the run
    torn: bool = False  # the last line was cut by a kill and set aside

    @cached_property
    def variants(self) -> dict[str, set[str]]:
        """The variants of each adapter."""
        found: dict[str, set[str]] = {}
        for result in self.cells:
            found.setdefault(result.cell.adapter, set()).add(result.cell.variant)
        return found


def find(name: str) -> Path:
    """Return the folder of a run, by its path, its name under the runs folder, or 'last'."""
    if name == "last":
        documents = sorted(paths.runs().glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
        if not documents:
            raise UserError(f"There are no runs in {paths.runs()} yet. Make one: harness run")
        return documents[-1].parent
    places = dict.fromkeys((Path(name), paths.runs() / name))  # one, where the name is a whole path
    for folder in places:
        if (folder / "run.json").is_file():
            return folder
    raise UserError(f"'{name}' is no run: there is no {' and no '.join(str(folder / 'run.json') for folder in places)}.")


class _Asked(msgspec.Struct):
    """What is read of run.json besides the suite."""

    id: str
    suite_name: str
    host: dict[str, Any]
    threads: int
    titles: dict[str, str]
    command: list[str] = []
    harness: str = ""
    origin: dict[str, Any] = {}


def load(folder: Path) -> Run:
    """Read a run; raise ``UserError`` for one that this version cannot read."""
    try:
        document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{folder / 'run.json'}: cannot be read: {error}.")
    version = document.get("version") if isinstance(document, dict) else None
    if version is None:
        raise UserError(f"{folder / 'run.json'}: does not say its version, so it is no run's.")
    if version != VERSION:
        raise UserError(f"{folder / 'run.json'}: is of version {version}; this harness reads {VERSION}. Use the harness that made it.")
    try:
        suite = Suite.model_validate(document["suite"])
        asked = msgspec.convert(document, _Asked)
        origin = Origin.model_validate(asked.origin) if asked.origin else None
    except (KeyError, msgspec.ValidationError, pydantic.ValidationError) as error:
        raise UserError(f"{folder / 'run.json'}: was changed after it was written: {error}.")
    reader = _Reader(suite.measure, asked.threads)
    torn = _read(folder / "events.jsonl", reader)
    try:
        cells = reader.results()
        _check(cells, asked.titles, asked.host, suite.protocol)
    except FAULTS as error:
        raise UserError(f"{folder}: its files were changed after they were written: {_told(error)}.")
    return Run(
        folder=folder,
        id=asked.id,
        suite=suite,
        suite_name=asked.suite_name,
        host=asked.host,
        threads=asked.threads,
        titles=asked.titles,
        cells=cells,
        command=shlex.join(asked.command),
        harness=asked.harness,
        origin=origin,
        sessions=reader.sessions,
        noise=reader.noise,
        torn=torn,
    )


# What comes of numbers and names that no run writes.
FAULTS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
LONGEST = 300  # characters of what is wrong with a changed file


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:LONGEST]}"


def _read(path: Path, reader: "_Reader") -> bool:
    """Let ``reader`` take all events; return whether the last line was torn by a kill. Raise ``UserError`` for any other that is none."""
    number, decode = 0, events.DECODER.decode
    try:
        with _no_collections(), path.open("rb") if path.exists() else io.BytesIO() as lines:
            for number, line in enumerate(lines, start=1):  # noqa: B007  # where it fails, the number is told
                try:
                    event = decode(line)
                except ValueError:
                    if line.endswith(b"\n"):
                        raise
                    return True
                if type(event) is not events.Block or event.label == "timed":  # a third of all events are other blocks
                    reader.take(event)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.")
    except FAULTS as error:
        raise UserError(f"{path}:{number}: the file was changed after it was written: {_told(error)}.")
    return False


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Have Python look for no garbage meanwhile: of what is read, none is, and looking takes longer with all that is kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Reader:
    """Makes results of events as they come. Those of a cell are kept until it has ended, and no longer."""

    def __init__(self, measure: Measure, threads: int) -> None:
        self._measure = measure
        self._threads = threads
        self._open: dict[str, list[events.OfCell]] = {}
        self._results: dict[str, CellResult] = {}  # in the order of the plan; of open cells what holds if nothing more comes
        self._ledgers: dict[bytes, dict[str, Any]] = {}
        self.sessions = 1
        self.noise: tuple[str, ...] = ()

    def take(self, event: events.AnyEvent) -> None:
        if isinstance(event, events.OfCell):
            self._of_cell(event)
        elif isinstance(event, events.Planned):
            self._open[event.cell.key] = []
            self._results[event.cell.key] = CellResult(event.cell, Status.INTERRUPTED, "the run ended before this cell did")
        elif isinstance(event, events.Noise):
            self.noise = tuple(dict.fromkeys((*self.noise, *event.found)))
        elif isinstance(event, events.Resumed):
            self.sessions += 1

    def _of_cell(self, event: events.OfCell) -> None:
        happened = self._open.get(event.cell)
        if happened is None or type(event) is events.Again:
            if event.cell not in self._results:
                raise LookupError(f"cell '{event.cell}' was never planned")
            if type(event) is not events.Again:  # of a cell that has ended, nothing more counts
                return
            happened = self._open[event.cell] = []
        happened.append(event)
        if type(event) is events.Ended:
            self._summarise(event.cell)

    def results(self) -> tuple[CellResult, ...]:
        """Every cell's, in the order of the plan."""
        for key in list(self._open):
            self._summarise(key)
        return tuple(self._results.values())

    def _summarise(self, key: str) -> None:
        cell = self._results[key].cell
        self._results[key] = summarise(cell, self._open.pop(key), self._measure, cell.threads or self._threads, self._ledger)

    def _ledger(self, text: msgspec.Raw) -> dict[str, Any]:
        """The settings of a ledger, which most cells of a framework have in common: one dictionary for all of them."""
        content = bytes(text)
        if content not in self._ledgers:
            self._ledgers[content] = msgspec.json.decode(content, type=dict[str, Any])
        return self._ledgers[content]


def _check(cells: tuple[CellResult, ...], titles: dict[str, str], host: dict[str, Any], protocol: str) -> None:
    """Raise ``LookupError`` where something is missing that every table wants."""
    for needed in ("cpu", "gpus"):
        host[needed]
    for result in cells:
        titles[result.cell.adapter]
        model = MODELS[result.cell.model]
        if not model.size_unit and result.cell.size != model.size:
            raise LookupError(f"{result.cell.key}: {model.name} has one size alone")
        for needed in ("framework", "version", "execution", "window") if result.ledger else ():
            result.ledger[needed]
        if protocol == "latency" and not all(block.latencies for block in result.blocks):
            raise LookupError(f"{result.cell.key} has no latencies")
