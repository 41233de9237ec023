"""Writing a run's folder: run.json (what was asked, of what, where), events.jsonl (the truth, append-only) and logs/."""

import json
import mmap
import os
import shlex
import time
from pathlib import Path
from typing import Any

from harness import __version__, paths
from harness.config import Suite
from harness.errors import UserError

# Of both files. 1: first version. Its "built" events have no "work" where they are older than models whose work is not the batch.
VERSION = 1


class Journal:
    """The writing end. Each event is one line, handed to the system at once, so that a kill loses at most the line being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "events.jsonl"
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written: {error.strerror}.")

    @classmethod
    def create(
        cls,
        suite_name: str,
        suite: Suite,
        host: dict[str, Any],
        threads: int,
        titles: dict[str, str],
        command: list[str],
        origin: dict[str, Any] | None = None,
    ) -> "Journal":
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
        return cls(folder)

    @classmethod
    def reopen(cls, folder: Path) -> "Journal":
        """Return the journal of a run to go on with. A last line that a kill has cut is set aside first: it would spoil the next one."""
        path = folder / "events.jsonl"
        if path.exists() and path.stat().st_size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                end = content.rfind(b"\n") + 1
                torn = content[end:]
            if torn:
                with (folder / "events.torn").open("ab") as aside:
                    aside.write(torn + b"\n")
                os.truncate(path, end)
        return cls(folder)

    def write(self, event: str, **fields: Any) -> None:
        """Append an event; raise ``UserError`` where that cannot be, as on a full disk."""
        left = json.dumps({"event": event, "time": round(time.time(), 3), **fields}, allow_nan=False).encode() + b"\n"
        try:
            while left:  # the system may take a part
                left = left[self._file.write(left) :]
        except OSError as error:
            way_out = f"What was measured to its end is kept. When it can be written again: harness resume {shlex.quote(str(self.folder))}"
            raise UserError(f"{self._path}: cannot be written: {error.strerror}. {way_out}")

    def close(self) -> None:
        self._file.close()
