"""One invocation of `harness run`, from environments to tables."""

import shlex
import signal
import sys
import time
from collections.abc import Container, Iterable
from typing import Any

import click
import msgspec
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from harness import hostinfo, locks, noise, paths, results
from harness.adapters import Adapter
from harness.config import Places, Suite
from harness.envs import provision
from harness.envs.base import EnvFailed
from harness.envs.provision import Need, Outcome
from harness.errors import UserError
from harness.journal import Journal
from harness.matrix import Planned
from harness.report import overview, terminal, whole
from harness.runner import Runner
from harness.statuses import Status


def provide(needs: Iterable[Need], adapters: dict[str, Adapter], places: Places) -> dict[Need, Outcome]:
    """Get the environments with a progress display on standard error; a failure is told at once and is an outcome."""
    needs = list(needs)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=terminal.console(stderr=True), transient=True) as progress:
        tasks = {need: progress.add_task(f"environment for {need[0]} on {need[1]}", total=1) for need in needs}

        def done(need: Need, outcome: Outcome) -> None:
            progress.update(tasks[need], completed=1)
            if isinstance(outcome, EnvFailed):
                progress.console.print(f"{need[0]}: env-failed: {outcome.reason}" + (f" (log: {outcome.log})" if outcome.log else ""))
            elif (seconds := progress.tasks[tasks[need]].elapsed or 0.0) > 1:
                progress.console.print(f"{need[0]}: environment made in {seconds:.0f} s")

        return provision.provide_all(needs, adapters, places, done)


def execute(
    name: str,
    suite: Suite,
    adapters: dict[str, Adapter],
    places: Places,
    planned: list[Planned],
    command: list[str],
    origin: dict[str, Any] | None = None,
    wait: bool = False,
) -> int:
    """Measure ``planned`` in a new run, print the tables, and return the exit code."""
    cpus = len(hostinfo.granted_cpus())
    threads = min(max(suite.threads or (cpus,)), cpus)
    titles = {item.cell.adapter: adapters[item.cell.adapter].manifest.title for item in planned}
    with locks.held(_devices(planned), wait):
        host = hostinfo.describe()
        journal = Journal.create(name, suite, host, threads, titles, command, origin)
        with locks.of_run(journal.folder):
            for item in planned:  # first of all, so that an interrupted run knows what it lacks
                journal.write("cell-planned", cell=msgspec.structs.asdict(item.cell))
            return _measure(journal, suite, adapters, places, planned, threads, host)


def resume(
    run: results.Run, adapters: dict[str, Adapter], places: Places, planned: list[Planned], again: Container[Status], wait: bool = False
) -> int:
    """Measure what ``run`` lacks of ``planned``, and its cells whose status is among ``again``; print, return the exit code."""
    ended = {result.cell.key: result.status for result in run.cells}
    todo = [item for item in planned if ended.get(item.cell.key, Status.INTERRUPTED) in again]
    if not todo:
        click.echo(f"Nothing is missing in {run.folder}.", err=True)
        report(run)
        return _exit_code(run)
    host = hostinfo.describe()
    for what in ("hostname", "cpu", "gpus"):
        if host[what] != run.host.get(what):
            there = run.host.get(what)
            raise UserError(f"{run.folder}: was begun where {what} is {there}, and here it is {host[what]}. Begin a run of its own.")
    if run.threads > len(host["cpus"]):
        raise UserError(f"{run.folder}: was begun with {run.threads} CPU threads, and here are {len(host['cpus'])}.")
    with locks.held(_devices(todo), wait), locks.of_run(run.folder):
        journal = Journal.reopen(run.folder)
        journal.write("resumed", command=sys.argv, cells=len(todo))
        for item in todo:
            if item.cell.key in ended:
                journal.write("cell-again", cell=item.cell.key)
            else:
                journal.write("cell-planned", cell=msgspec.structs.asdict(item.cell))
        return _measure(journal, run.suite, adapters, places, todo, run.threads, host, run.sessions)


def _devices(planned: list[Planned]) -> list[str]:
    return list(dict.fromkeys(item.cell.device for item in planned if item.reason is None))


def _exit_code(run: results.Run) -> int:
    return 1 if any(cell.status.is_failure for cell in run.cells) else 0


def _measure(
    journal: Journal,
    suite: Suite,
    adapters: dict[str, Adapter],
    places: Places,
    planned: list[Planned],
    threads: int,
    host: dict[str, Any],
    session: int = 0,
) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends like Ctrl-C: workers gone, events written
    console = terminal.console(stderr=True)
    console.print(f"run {journal.folder}: {len(planned)} cells of {suite.title!r}, {threads} CPU threads", soft_wrap=True)
    journal.write("noise", found=(found := noise.warnings(host)))
    for warning in found:
        console.print(f"noise: {warning}", soft_wrap=True)
    start = time.monotonic()

    def tell(cell: str, news: str) -> None:
        console.print(f"{time.monotonic() - start:7.1f} s  {cell}: {news}", soft_wrap=True)

    try:
        needs = dict.fromkeys((item.cell.adapter, item.cell.device_kind) for item in planned if item.reason is None)
        outcomes = provide(needs, adapters, places)
        Runner(journal, adapters, outcomes, hostinfo.granted_cpus()[:threads], suite, tell, session).run(planned)
        code = None
    except KeyboardInterrupt:
        code = 130
    finally:
        journal.close()
    run = results.load(journal.folder)
    report(run)
    tell_healed(run, planned)
    return _exit_code(run) if code is None else code


def tell_healed(run: results.Run, planned: list[Planned]) -> None:
    """Say which known gaps were tried and are none."""
    gaps = {item.cell.key: item.gap for item in planned if item.gap and item.reason is None}
    for result in run.cells:
        if result.status is Status.OK and result.cell.key in gaps:
            click.echo(f"Healed: {result.cell.key} works. Take '{gaps[result.cell.key]}' out of adapter {result.cell.adapter}'s gaps.toml.")


def report(run: results.Run) -> None:
    """Print the tables of ``run`` and write them beside its events, as Markdown and as a page for a browser."""
    for name, text in (("tables.md", whole.as_markdown(run)), ("report.html", whole.as_page(run))):
        try:
            paths.write_whole(run.folder / name, text)
        except OSError as error:
            click.echo(f"{run.folder / name}: cannot be written: {error.strerror}.", err=True)
    console = terminal.console()
    for table in whole.rendered(run, console.width):
        console.print(table)
    click.echo(overview.counted(run))
    click.echo(f"Again, or in detail: harness show {shlex.quote(str(run.folder))} --details", file=sys.stderr)
    if unfinished := overview.unfinished(run):
        click.echo(unfinished, err=True)
