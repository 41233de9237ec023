"""A run as one HTML file that needs nothing else: no script, no font, no picture from anywhere."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import jinja2

from harness.report import charts, overview
from harness.report.facts import facts
from harness.report.sheets import Sheet
from harness.report.tables import Entry, Table, ranked
from harness.results import Run
from harness.statuses import Status


class Shown(NamedTuple):
    """What the template knows of a table, of either kind."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    left: int
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def page(run: Run, tables: Sequence[Table | Sheet], whole: bool) -> str:
    """Return the page. ``whole``: with charts, and every cell with what its number rests on; else the tables alone."""
    shown = [_of_table(one) if isinstance(one, Table) else _of_sheet(one) for one in tables]
    return _template().render(
        run=run,
        counts=overview.counted(run),
        unfinished=overview.unfinished(run),
        host=_host(run),
        tables=shown,
        comparisons=[*charts.ratios(run), *(charts.latencies(run) if run.suite.protocol == "latency" else [])] if whole else [],
        blocks=charts.blocks(run) if whole else [],
        cells=[(result, facts(result)) for result in run.cells] if whole else [],
        Status=Status,
    )


@cache
def _template() -> jinja2.Template:
    loader, strict = jinja2.PackageLoader("harness.report", ""), jinja2.StrictUndefined
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=strict, trim_blocks=True, lstrip_blocks=True)
    return made.get_template("page.html.jinja")


def _of_table(table: Table) -> Shown:
    best = ("Bold: fastest of its column, and what is not told apart from it.",) if ranked(table) else ()
    rows = tuple((Entry(row.title), *row.entries) for row in table.rows)
    return Shown(table.title, ("framework", *table.columns), rows, 1, (*table.caption, *best), table.notes)


def _of_sheet(sheet: Sheet) -> Shown:
    return Shown(sheet.title, sheet.header, tuple(tuple(map(Entry, row)) for row in sheet.rows), sheet.left, sheet.lines)


def _host(run: Run) -> list[tuple[str, str]]:
    """What a reader must know of the machine. Older runs know less."""
    host = run.host
    gpus = [f"{gpu.get('name')}" + (f", driver {gpu['driver']}" if gpu.get("driver") else "") for gpu in host["gpus"]]
    memory = host.get("memory_bytes")
    known = [
        ("CPU", f"{host['cpu']}, {len(host.get('cpus', ()))} granted, {run.threads} threads used"),
        ("Memory", f"{memory / 2**30:.1f} GiB" if memory else ""),
        ("GPU", "; ".join(gpus)),
        ("System", str(host.get("system", ""))),
        ("Governor", str(host.get("governor") or "")),
        ("Harness", run.harness),
        ("Command", run.command),
    ]
    return [(name, said) for name, said in known if said]
