"""A run's folder: run.json (what was asked, of what, where), events.jsonl (the truth, append-only) and logs/.

Everything that a table says is a pure function of these two files.
"""

import contextlib
import gc
import io
import json
import mmap
import os
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pydantic

from harness import __version__, events, paths
from harness.config import Measure, Suite
from harness.core.models import MODELS
from harness.errors import UserError
from harness.statuses import Status
from harness.summary import CellResult, summarise

# Of both files. 1: first version. Its "built" events have no "work" where they are older than models whose work is not the batch.
VERSION = 1


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
    origin: dict[str, Any] = {}  # what planning needs besides the suite, so that the run can be resumed
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


class Journal:
    """The writing end. Each event is one line, handed to the system at once, so that a kill loses at most the line being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "events.jsonl"
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written: {error.strerror}.")

    def write(self, event: str, **fields: Any) -> None:
        """Append an event; raise ``UserError`` where that cannot be, as on a full disk."""
        left = json.dumps({"event": event, "time": round(time.time(), 3), **fields}, allow_nan=False).encode() + b"\n"
        try:
            while left:  # the system may take a part
                left = left[self._file.write(left) :]
        except OSError as error:
            way_out = f"All that was measured before is kept. When it can be written again: harness resume {self.folder}"
            raise UserError(f"{self._path}: cannot be written: {error.strerror}. {way_out}")

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
            (folder / "logs").mkdir()
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"{folder}: cannot be made: {error.strerror}. Set HARNESS_RUNS to a folder that can be written.")
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
    try:
        paths.write_whole(folder / "run.json", json.dumps(document, indent=1))
    except OSError as error:
        raise UserError(f"{folder / 'run.json'}: cannot be written: {error.strerror}.")
    return Journal(folder)


def reopen(folder: Path) -> Journal:
    """Return the journal of a run to go on with. A last line that a kill has cut is set aside first: it would spoil the next one."""
    path = folder / "events.jsonl"
    if path.stat().st_size:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = content.rfind(b"\n") + 1
            torn = content[end:]
        if torn:
            with (folder / "events.torn").open("ab") as aside:
                aside.write(torn + b"\n")
            os.truncate(path, end)
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
    path, number, torn = folder / "events.jsonl", 0, False
    reader, decode = _Reader(suite.measure, fields["threads"]), events.DECODER.decode
    try:
        with _no_collections(), path.open("rb") if path.exists() else io.BytesIO() as lines:
            for number, line in enumerate(lines, start=1):  # noqa: B007  # where it fails, the number is told
                try:
                    event = decode(line)
                except ValueError:
                    if line.endswith(b"\n"):
                        raise
                    torn = True  # by a kill
                else:
                    if type(event) is not events.Block or event.label == "timed":  # a third of all events are other blocks
                        reader.take(event)
        cells = reader.results()
        _check(cells, fields["titles"], fields["host"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        told = " ".join(str(error).split())[:LONGEST]
        raise UserError(f"{path}:{number}: the file was changed after it was written: {type(error).__name__}: {told}.")
    found: dict[str, Any] = {"cells": cells, "sessions": reader.sessions, "noise": reader.noise, "torn": torn}
    return Run(folder=folder, suite=suite, origin=document.get("origin", {}), **found, **fields)


LONGEST = 300  # characters of what is wrong with a changed file


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


def _check(cells: tuple[CellResult, ...], titles: dict[str, str], host: dict[str, Any]) -> None:
    """Raise ``KeyError`` where something is missing that every table wants."""
    for needed in ("cpu", "gpus"):
        host[needed]
    for result in cells:
        titles[result.cell.adapter], MODELS[result.cell.model]
        for needed in ("framework", "version", "execution", "window") if result.ledger else ():
            result.ledger[needed]
