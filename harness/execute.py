"""One invocation of `harness run`, from environments to tables."""

import signal
import sys
import time
from collections.abc import Iterable

import click
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from harness import hostinfo, noise, results
from harness.adapters import Adapter
from harness.config import Places, Suite
from harness.envs import provision
from harness.envs.base import EnvFailed
from harness.envs.provision import Need, Outcome
from harness.errors import UserError
from harness.matrix import Planned
from harness.report import terminal, whole
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


def execute(name: str, suite: Suite, adapters: dict[str, Adapter], places: Places, planned: list[Planned], command: list[str]) -> int:
    """Measure ``planned``, print the tables, and return the exit code."""
    cpus = hostinfo.granted_cpus()
    threads = max(suite.threads or (len(cpus),))
    if threads > len(cpus) and suite.threads and len(suite.threads) == 1:
        raise UserError(f"threads is {threads}, but only {len(cpus)} CPUs may be used here.")
    threads = min(threads, len(cpus))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends like Ctrl-C: workers gone, events written
    titles = {item.cell.adapter: adapters[item.cell.adapter].manifest.title for item in planned}
    host = hostinfo.describe()
    journal = results.create(name, suite, host, threads, titles, command)
    console = terminal.console(stderr=True)
    console.print(f"run {journal.folder}: {len(planned)} cells of suite '{name}', {threads} CPU threads")
    journal.write("noise", found=(found := noise.warnings(host)))
    for warning in found:
        console.print(f"noise: {warning}", soft_wrap=True)
    start = time.monotonic()

    def tell(cell: str, news: str) -> None:
        console.print(f"{time.monotonic() - start:7.1f} s  {cell}: {news}", soft_wrap=True)

    for item in planned:  # first of all, so that an interrupted run knows what it lacks
        journal.write("cell-planned", cell=item.cell.model_dump())
    try:
        needs = dict.fromkeys((item.cell.adapter, item.cell.device_kind) for item in planned if item.reason is None)
        outcomes = provide(needs, adapters, places)
        Runner(journal, adapters, outcomes, cpus[:threads], suite, tell).run(planned)
        code = None
    except KeyboardInterrupt:
        code = 130
    finally:
        journal.close()
    report(results.load(journal.folder))
    tell_healed(results.load(journal.folder), planned)
    if code is None:
        failed = [cell for cell in results.load(journal.folder).cells if cell.status.is_failure]
        code = 1 if failed else 0
    return code


def tell_healed(run: results.Run, planned: list[Planned]) -> None:
    """Say which known gaps were tried and are none."""
    gaps = {item.cell.key: item.gap for item in planned if item.gap and item.reason is None}
    for result in run.cells:
        if result.status is Status.OK and result.cell.key in gaps:
            click.echo(f"Healed: {result.cell.key} works. Take '{gaps[result.cell.key]}' out of adapter {result.cell.adapter}'s gaps.toml.")


def report(run: results.Run) -> None:
    """Print the tables of ``run`` and write them beside its events as Markdown."""
    (run.folder / "tables.md").write_text(whole.as_markdown(run), encoding="utf-8")
    console = terminal.console()
    for table in whole.rendered(run, console.width):
        console.print(table)
    counts = {status: sum(cell.status is status for cell in run.cells) for status in Status}
    click.echo(f"{len(run.cells)} cells: " + ", ".join(f"{count} {status}" for status, count in counts.items() if count))
    click.echo(f"Again, or in detail: harness show {run.folder} --details", file=sys.stderr)
