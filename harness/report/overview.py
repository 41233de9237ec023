"""What can be told of a run that is too large to be shown whole, and the part of it that a reader asks for."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from harness.errors import UserError
from harness.report.sheets import Sheet
from harness.report.tables import row_title, separately
from harness.results import Run
from harness.statuses import Status
from harness.suggest import unknown


def overview(run: Run) -> Sheet:
    """Return how the cells of each framework ended."""
    rows, folder = [], shlex.quote(str(run.folder))
    statuses = [status for status in Status if any(result.status is status for result in run.cells)]
    for (adapter, variant, copy), mine in separately(run.cells, lambda cell: (cell.adapter, cell.variant, cell.copy_number)):
        counts = Counter(result.status for result in mine)
        rows.append((row_title(run, adapter, variant, copy), *(f"{counts[status]:,}" for status in statuses)))
    return Sheet(
        title=f"{run.suite.title}: {len(run.cells):,} cells by how they ended",
        header=("framework", *map(str, statuses)),
        rows=tuple(rows),
        lines=(
            f"Their tables are too long for a terminal. All: harness show {folder} --markdown",
            f"A part, for example: harness show {folder} --model {run.cells[0].cell.model} --mode {run.cells[0].cell.mode}",
        ),
    )


def counted(run: Run) -> str:
    """Return how many cells the run has, and how they ended."""
    counts = Counter(result.status for result in run.cells)
    words = [f"{counts[status]:,} {'N/A' if status is Status.UNSUPPORTED else status}" for status in Status if counts[status]]
    return f"{len(run.cells):,} cells: {', '.join(words)}"


def unfinished(run: Run) -> str | None:
    """Return how to go on with a run that something ended, or None for one that is complete."""
    count = sum(result.status is Status.INTERRUPTED for result in run.cells)
    return f"Cells that were not finished: {count}. Go on: harness resume {shlex.quote(str(run.folder))}" if count else None


def part(run: Run, wanted: Mapping[str, Sequence[object]]) -> Run:
    """Return ``run`` with those cells alone whose fields have one of the values named; raise ``UserError`` where none has."""
    cells = run.cells
    for field, values in wanted.items():
        for value in values:
            if all(getattr(result.cell, field) != value for result in run.cells):
                known = sorted({getattr(result.cell, field) for result in run.cells})
                raise UserError(unknown(f"{field} of this run", str(value), map(str, known)))
        cells = tuple(result for result in cells if not values or getattr(result.cell, field) in values)
    if not cells and any(wanted.values()):
        raise UserError(f"{run.folder}: no cell has all of that.")
    return msgspec.structs.replace(run, cells=cells)
