"""Tables on a terminal."""

import rich.table
from rich.console import Console, Group, RenderableType
from rich.text import Text

from harness.report.tables import Entry, Table
from harness.results import CellResult, Run


def _cell(entry: Entry) -> Text:
    text = Text(entry.text, style="bold" if entry.best else "")
    if entry.note is not None:
        text.append(f" [{entry.note}]", style="dim")
    return text


def render(table: Table) -> RenderableType:
    """Return one table with its caption and notes."""
    drawn = rich.table.Table(title=table.title, title_justify="left", title_style="bold")
    drawn.add_column("framework")
    for column in table.columns:
        drawn.add_column(column, justify="right")
    for row in table.rows:
        drawn.add_row(Text(row.title), *map(_cell, row.entries))
    below = [*table.caption, *(f"[{number}] {note}" for number, note in enumerate(table.notes, start=1))]
    return Group(drawn, *(Text(line) for line in below), Text(""))


def details(run: Run) -> RenderableType:
    """Return one line per cell: what its number rests on."""
    drawn = rich.table.Table(title="Cells", title_justify="left", title_style="bold")
    for name, justify in (("cell", "left"), ("status", "left"), ("blocks x steps", "right"), ("CPU/wall", "right")):
        drawn.add_column(name, justify=justify)  # type: ignore[arg-type]  # rich's literal type
    for name in ("first step", "worst error / limit", "peak RSS"):
        drawn.add_column(name, justify="right")
    for result in run.cells:
        drawn.add_row(*map(Text, _detail(result)))
    return drawn


def _detail(result: CellResult) -> tuple[str, ...]:
    rate = result.rate
    compared = [check for check in result.checks if check.error is not None]
    closest = max(compared, key=lambda check: (check.error or 0.0) / check.limit, default=None)
    return (
        result.cell.key,
        str(result.status),
        f"{rate.blocks} x {rate.steps / rate.blocks:.0f}" if rate else "none",
        f"{result.cpu_per_wall:.2f}" if result.cpu_per_wall is not None else "unknown",
        f"{result.first_step_seconds:.1f} s" if result.first_step_seconds is not None else "unknown",
        f"{closest.error:.0e} / {closest.limit:.0e} ({closest.what})" if closest else "none",
        f"{result.peak_rss_bytes / 2**20:,.0f} MiB" if result.peak_rss_bytes else "unknown",
    )


def console(stderr: bool = False) -> Console:
    """A console that never turns text of ours or of a framework into markup."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)
