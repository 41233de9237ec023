"""What the tests tell their stories with: a project in a folder, and runs written by hand."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
from click.testing import CliRunner

from harness import cli, paths, results
from harness.adapters import Adapter, load
from harness.config import Suite
from harness.journal import Journal
from harness.matrix import Cell

ROOT = Path(__file__).resolve().parent.parent
NUMPY = ROOT / "tests" / "fixtures" / "adapters" / "numpy"
QUICK = {"warmup_seconds": 0, "warmup_steps": 1, "blocks": 3, "most_blocks": 3, "block_seconds": 0.001, "unstable_above": 1000}
CELL = {"model": "mobilenet", "mode": "infer", "device": "cpu", "precision": "fp32", "batch": 2, "size": 32}


def examples(few: int) -> int:
    """How many inputs a reader meets: ``few``, or as many as HARNESS_EXAMPLES says."""
    return max(few, int(os.environ.get("HARNESS_EXAMPLES", "0")))


def toml(value: Any) -> str:
    """A value in TOML; tables are inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write_toml(path: Path, document: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in document.items()), encoding="utf-8")
    return path


def suite(**changes: Any) -> dict[str, Any]:
    """A suite of one cell that takes about a second."""
    cells = {"adapters": ["numpy"], "models": ["mobilenet"], "modes": ["infer"], "batch": 2, "size": 32, "threads": 1}
    return {"title": "Tiny", **cells, "measure": QUICK, **changes}


def wait_until(true: Any, seconds: float) -> bool:
    """Poll until ``true()``, at most ``seconds``; return whether it came true."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Outcome(NamedTuple):
    """What a command ended with."""

    code: int
    out: str
    err: str


class Project:
    """A folder with a benchmarks.toml whose suite "tiny" runs the numpy fixture in this very interpreter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document: dict[str, Any] = {
            "version": 1,
            "default_suite": "tiny",
            "adapter_paths": [str(NUMPY)],
            "environments": {"numpy": {"kind": "interpreter", "python": sys.executable}},
            "suites": {"tiny": suite()},
        }
        self.save()

    def save(self) -> None:
        write_toml(self.folder / "benchmarks.toml", self.document)

    def configure(self, **changes: Any) -> "Project":
        """Change the suite."""
        self.document["suites"]["tiny"].update(changes)
        self.save()
        return self

    def add_adapter(
        self, name: str, lock: str = "", environment: dict[str, Any] | None = None, containerfile: str | None = None, **manifest: Any
    ) -> Adapter:
        """Add a copy of the numpy fixture under another name.

        Without ``environment`` it is a venv made from ``lock``, or a container made from ``lock`` and ``containerfile``.
        """
        folder = self.folder / "adapters" / name
        shutil.copytree(NUMPY, folder, ignore=shutil.ignore_patterns("__pycache__"))
        if containerfile is not None:
            (folder / "Containerfile").write_text(containerfile, encoding="utf-8")
            manifest["devices"] = {"cpu": {"lock": "locks/cpu.txt", "containerfile": "Containerfile"}}
        fields = {**load(NUMPY).manifest.model_dump(mode="json", exclude_none=True), "name": name, "title": name.title(), **manifest}
        write_toml(folder / "manifest.toml", fields)
        (folder / "locks" / "cpu.txt").write_text(lock, encoding="utf-8")
        self.document["adapter_paths"].append(str(folder))
        self.document["suites"]["tiny"]["adapters"].append(name)
        if environment is not None:
            self.document["environments"][name] = environment
        self.save()
        return load(folder)

    def run(self, *arguments: str) -> Outcome:
        """Run the command line in this process."""
        result = CliRunner().invoke(cli.main, arguments, catch_exceptions=False, prog_name="harness")
        return Outcome(result.exit_code, result.stdout, result.stderr)

    def start(self, *arguments: str, largest_file: int = resource.RLIM_INFINITY, stdout: Any = subprocess.PIPE) -> "subprocess.Popen[str]":
        """Start the command line as a process of its own, for what signals and file descriptors do.

        Writing beyond ``largest_file`` bytes fails like on a full disk.
        """
        command = [sys.executable, "-c", "from harness.cli import main; main(prog_name='harness')", *arguments]

        def prepare() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it, and so would all that they start
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=prepare)

    def result(self) -> results.Run:
        return results.load(results.find("last"))

    def endings(self) -> dict[str, tuple[str, str]]:
        """Status and reason of every cell of the last run, by "adapter/variant"."""
        return {f"{r.cell.adapter}/{r.cell.variant}": (str(r.status), r.reason) for r in self.result().cells}

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The last run's events of one kind."""
        lines = (results.find("last") / "events.jsonl").read_text(encoding="utf-8").splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def workers(self) -> list[psutil.Process]:
        """Processes that run code which this project staged, and what it started."""
        staged = str(paths.cache() / "staged")
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            words = process.info["cmdline"] or []
            if process.info["status"] != psutil.STATUS_ZOMBIE and any(word.startswith(staged) for word in words):
                found.append(process)
        return found


class Recorder:
    """Writes a run's files event by event, as a run does."""

    def __init__(self, titles: dict[str, str] | None = None, **changes: Any) -> None:
        titles = titles or {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}
        wanted = Suite.model_validate(suite(**changes))
        self.journal = Journal.create("tiny", wanted, {"cpu": "Test CPU", "gpus": []}, 4, titles, ["harness", "run"])
        self.path = self.journal.folder / "events.jsonl"

    def plan(self, adapter: str, **changes: Any) -> Cell:
        cell = Cell(**{**CELL, "adapter": adapter, "variant": "eager", **changes})
        self.journal.write("cell-planned", cell=msgspec.structs.asdict(cell))
        return cell

    def ended(self, cell: Cell, status: str, reason: str = "") -> Cell:
        self.journal.write("cell-ended", cell=cell.key, status=status, reason=reason)
        return cell

    def measured(
        self, cell: Cell, seconds: list[float], steps: int = 10, error: float | None = 1e-7, finite: bool = True, **built: Any
    ) -> Cell:
        """A cell that ran to its end, one block for each of ``seconds``."""
        check = {"what": "fp32 outputs", "error": error, "limit": 1e-5, "worst": "fc", "passed": error is not None and error <= 1e-5}
        ledger = {"framework": cell.adapter.title(), "version": "1.0", "execution": "eager", "window": "forward; inputs resident"}
        self.journal.write("parity", cell=cell.key, checks=[check])
        self.journal.write("built", cell=cell.key, **{"checks": [], "ledger": ledger, "first_step_seconds": 0.5, **built})
        for time_spent in seconds:
            for label, count in (("settle", 1), ("timed", steps)):
                self.journal.write(
                    "block", cell=cell.key, label=label, steps=count, start=0.0, seconds=time_spent, cpu_seconds=2 * time_spent
                )
        self.journal.write("finished", cell=cell.key, finite=finite, peak_rss_bytes=2**20)
        return self.ended(cell, "ok")

    def load(self) -> results.Run:
        self.journal.close()
        return results.load(self.journal.folder)
