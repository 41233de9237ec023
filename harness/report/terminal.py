"""Tables on a terminal."""

import rich.table
from rich.console import Console, Group, RenderableType
from rich.text import Text

from harness.report.tables import Entry, Table, ranked
from harness.results import CellResult, Run


def _cell(entry: Entry) -> Text:
    text = Text(entry.text + (" *" if entry.best else ""), style="bold" if entry.best else "")
    if entry.note is not None:
        text.append(f" [{entry.note}]", style="dim")
    return text


def render(table: Table) -> RenderableType:
    """Return one table with its caption and notes."""
    drawn = rich.table.Table()
    drawn.add_column("framework", no_wrap=True)
    for column in table.columns:
        drawn.add_column(column, justify="right", overflow="fold")
    for row in table.rows:
        drawn.add_row(Text(row.title), *map(_cell, row.entries))
    below = [
        *table.caption,
        *(["* fastest of its column, and what is not told apart from it."] if ranked(table) else []),
        *(f"[{number}] {note}" for number, note in enumerate(table.notes, start=1)),
    ]
    return Group(Text(table.title, style="bold"), drawn, *(Text(line) for line in below), Text(""))


def details(run: Run) -> RenderableType:
    """Return two lines per cell: what its number rests on."""
    lines = [Text("Cells", style="bold")]
    for result in run.cells:
        lines.append(Text(f"{result.cell.key}: {result.status}" + (f": {result.reason}" if result.reason else "")))
        lines.extend(Text(f"    {fact}", style="dim") for fact in _facts(result))
    return Group(*lines)


def _facts(result: CellResult) -> list[str]:
    facts = []
    if result.rate is not None:
        rate = result.rate
        facts.append(f"{rate.steps} steps in {rate.blocks} blocks; CPU time / wall time {result.cpu_per_wall:.2f}")
    if result.first_step_seconds is not None:
        facts.append(f"building and first step {result.first_step_seconds:.1f} s")
    if result.memory.resident is not None:
        since = "" if result.rss_since_build else ", proofs included"
        facts.append(f"peak resident memory of the worker {result.memory.resident / 2**20:,.0f} MiB{since}")
    for check in result.checks:
        error = "not finite" if check.error is None else f"{check.error:.1e}"
        facts.append(f"{'passed' if check.passed else 'FAILED'}: {check.what}: relative error {error}, limit {check.limit:.0e}")
    if result.ledger:
        facts.append("; ".join(f"{name} {value}" for name, value in result.ledger.items()))
    return facts


def console(stderr: bool = False) -> Console:
    """A console that never turns text of ours or of a framework into markup."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)
