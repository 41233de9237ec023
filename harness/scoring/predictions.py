"""Predictions: the cells of a run, or a table in a file."""

from pathlib import Path
from typing import NamedTuple

from harness import results
from harness.core.models import MODELS
from harness.errors import UserError
from harness.gold import cells, files
from harness.gold.records import Entry, Value
from harness.matrix import Cell
from harness.statuses import Status
from harness.summary import CellResult


class Predictions(NamedTuple):
    """What is scored: where it came from, its entries, and what a reader must know of them."""

    source: str
    entries: list[Entry]
    notes: tuple[str, ...] = ()


def load(name: str) -> Predictions:
    """Return the table in the file ``name``, or the run of that folder, name or "last"; raise ``UserError`` for neither."""
    if _is_file(name):
        return Predictions(name, files.read(Path(name)))
    try:
        folder = results.find(name)
    except UserError as error:
        raise UserError(f"{error} A table is a file whose name ends with {', '.join(files.SUFFIXES)}.")
    run = results.load(folder)
    unsteady = [result for result in run.cells if result.status is Status.UNSTABLE]
    notes = [f"{len(unsteady)} of the run's numbers are unstable and scored like the others"] if unsteady else []
    return Predictions(f"run {run.id}", [_entry(run, result) for result in run.cells], tuple(notes))


def _is_file(name: str) -> bool:
    """Whether ``name`` is a file, or looks like a table's, so that what is wrong with it is said of a file."""
    try:
        return Path(name).is_file() or Path(name).suffix.lower() in files.SUFFIXES
    except OSError as error:
        raise UserError(f"{cells.shown(name)}: cannot be looked for: {error.strerror}.")


def _entry(run: results.Run, result: CellResult) -> Entry:
    cell: Cell = result.cell
    model = MODELS.get(cell.model)
    rate = result.rate if result.status.has_number else None
    return Entry(
        framework=run.titles.get(cell.adapter, cell.adapter),
        model=model.title if model else cell.model,
        value=None if rate is None else Value(mean=rate.mean, std=rate.std),
        word="N/A" if rate is not None or result.status is Status.UNSUPPORTED else str(result.status),
        unit=f"{model.unit}/s" if model else None,
        mode=cell.mode,
        precision=cell.precision,
        device=cell.device,
        variant=cell.variant,
        batch=cell.batch,
        size=cell.size,
        where=cell.key,
    )
