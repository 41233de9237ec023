"""Tables on a terminal."""

import os
import sys

import rich.table
from rich.console import Console, Group, RenderableType
from rich.text import Text

from harness.report import columns
from harness.report.facts import facts
from harness.report.tables import Entry, Table, ranked
from harness.results import Run


def _cell(entry: Entry) -> Text:
    text = Text(entry.text + (" *" if entry.best else ""), style="bold" if entry.best else "")
    if entry.note is not None:
        text.append(f" [{entry.note}]", style="dim")
    return text


def render(table: Table, width: int | None = None) -> RenderableType:
    """Return one table with its caption and notes, in parts where it is wider than ``width``."""
    rows = [(Text(row.title), *map(_cell, row.entries)) for row in table.rows]
    heads = (Text("framework"), *map(Text, table.columns))
    drawn = []
    texts = [[text.plain for text in line] for line in zip(heads, *rows, strict=True)]  # by column
    wanted, needed = [max(map(len, column)) for column in texts], [max(map(columns.longest_word, column)) for column in texts]
    for places, widths in columns.layout(needed, wanted, 1, width):
        drawn.append(rich.table.Table())
        for place, wide in zip(places, widths, strict=True):
            drawn[-1].add_column(heads[place], justify="right" if place else "left", width=wide)
        for row in rows:
            drawn[-1].add_row(*(row[place] for place in places))
    below = [
        *table.caption,
        *(["* fastest of its column, and what is not told apart from it."] if ranked(table) else []),
        *(f"[{number}] {note}" for number, note in enumerate(table.notes, start=1)),
    ]
    return Group(Text(table.title, style="bold"), *drawn, *(Text(line) for line in below), Text(""))


def details(run: Run) -> RenderableType:
    """Return two lines per cell: what its number rests on."""
    lines = [Text("Cells", style="bold")]
    for result in run.cells:
        lines.append(Text(f"{result.cell.key}: {result.status}" + (f": {result.reason}" if result.reason else "")))
        lines.extend(Text(f"    {fact}", style="dim") for fact in facts(result))
    return Group(*lines)


UNLIMITED = 1000  # characters of a line, where what is printed goes to a file or another program


def console(stderr: bool = False) -> Console:
    """A console that never turns text of ours or of a framework into markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else UNLIMITED
    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)
