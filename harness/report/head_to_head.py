"""Ratios of frameworks to a baseline, with intervals and verdicts, from blocks that ran in the same rounds."""

import re
from collections.abc import Sequence

from harness.ratios import Ratio, Verdict, paired, ratio, verdict
from harness.report.tables import Entry, Kind, Row, Table, column_title, groups, row_title, separately, tables
from harness.results import Run
from harness.statuses import Status
from harness.summary import CellResult


def all_tables(run: Run) -> list[Table]:
    """Return tables of rates, each followed by its table of ratios."""
    ratios = {table.title.partition(":")[0]: table for table in head_to_head(run)}
    return [one for table in tables(run) for one in (table, ratios.get(table.title.partition(":")[0])) if one is not None]


def head_to_head(run: Run) -> list[Table]:
    """Return a table of ratios for each table of rates that has two rows or more."""
    found = [_table(run, kind, results) for kind, results in groups(run).items()]
    return [table for table in found if table is not None]


def _differs(found: Ratio | None, said: str) -> bool:
    """Whether two of the same certainly differ, by however little, unless that little is within the margin for certain."""
    return found is not None and said not in (Verdict.SAME, Status.UNSTABLE) and not found.low <= 1 <= found.high


RATIO = re.compile(r"\d+\.\d+ \[|too few pairs")  # what makes a table of ratios worth its place


def _table(run: Run, kind: Kind, results: list[CellResult]) -> Table | None:
    columns = list(dict.fromkeys((r.cell.model, r.cell.batch, r.cell.size) for r in results))
    names = list(dict.fromkeys((r.cell.adapter, r.cell.variant, r.cell.copy_number) for r in results))
    base = next((name for name in names if name[0] == run.suite.compared_with and name[2] == 1), None)
    if base is None or len(names) < 2:
        return None
    by_place = {(r.cell.adapter, r.cell.variant, r.cell.copy_number, r.cell.model, r.cell.batch, r.cell.size): r for r in results}
    rows, warnings = [], []
    for name in names:
        entries = []
        for column in columns:
            mine, theirs = by_place.get((*name, *column)), by_place.get((*base, *column))
            comparison = compared(run, mine, theirs)
            text = "1" if name == base and _measured(mine) else told(*comparison)
            entries.append(Entry(text, cell="" if mine is None else mine.cell.key))
            if name[2] > 1 and _differs(*comparison):
                warnings.append(column_title(*column))
        rows.append(Row(title=row_title(run, *name), entries=tuple(entries)))
    if not any(RATIO.match(entry.text) for row in rows for entry in row.entries):
        return None
    caption = [f"Ratio of rates to {row_title(run, *base)} in blocks of the same round, with its 95 % interval."]
    caption.append(
        f"Verdicts go by the interval: faster or slower by more than {run.suite.measure.margin:.1%}, the same within that, else undecided. "
        "Unstable: one of the two is, so there is no verdict."
    )
    if run.suite.measure.processes == 1:
        caption.append(
            "One process each: processes of one framework may differ by some per cent, which the intervals do not know (set processes)."
        )
    caption += differences(results)
    if warnings:
        caption.append(
            f"WARNING: {row_title(run, *base)} differs from itself in {', '.join(warnings)}: differences of that size mean nothing here."
        )
    return Table(
        title=f"{kind.title}: ratios to {row_title(run, *base)}",
        columns=tuple(column_title(*column) for column in columns),
        rows=tuple(rows),
        notes=(),
        caption=tuple(caption),
    )


# Settings that change what is timed, threads first. How a graph runs stands in the caption of rates.
COMPARED = (
    "threads",
    "autocast",
    "autotune",
    "deterministic",
    "tf32",
    "fp32_arithmetic",
    "layout",
    "embedding_gradient",
    "fused_subgraphs",
    "window",
)


def differences(results: list[CellResult]) -> list[str]:
    """Name the settings in which cells that are compared differ, as their frameworks report them, and who has which."""
    found: dict[str, dict[str, dict[str, None]]] = {}  # by setting and value
    for _, rivals in separately((result for result in results if result.ledger), lambda cell: cell.group):
        for setting in COMPARED:
            values = {(str(r.ledger[setting]), str(r.ledger["framework"])): None for r in rivals if setting in r.ledger}
            if len({value for value, _ in values}) > 1:
                for value, framework in values:
                    found.setdefault(setting, {}).setdefault(value, {})[framework] = None
    lines = [f"{setting} {_who(found[setting])}" for setting in COMPARED if setting in found]
    return [f"Settings differ: {'. '.join(lines)}."] if lines else []


def _who(values: dict[str, dict[str, None]]) -> str:
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in values.items())


def _measured(result: CellResult | None) -> bool:
    return result is not None and result.rate is not None and result.status.has_number


def base_of(run: Run, rivals: Sequence[CellResult]) -> CellResult | None:
    """Return which cell of a group the others are compared with."""
    return next((r for r in rivals if r.cell.adapter == run.suite.compared_with and r.cell.copy_number == 1), None)


def compared(run: Run, mine: CellResult | None, theirs: CellResult | None) -> tuple[Ratio | None, str]:
    """Return the ratio of two cells' rates and the verdict, or None and why there is none."""
    if mine is None:
        return None, "not planned"
    if not _measured(mine):
        return None, "N/A" if mine.status is Status.UNSUPPORTED else str(mine.status)
    if theirs is None or not _measured(theirs):
        return None, "no baseline"
    found = ratio(paired(mine.blocks, theirs.blocks))
    if found is None:
        return None, "too few pairs"
    unstable = Status.UNSTABLE in (mine.status, theirs.status)  # it has numbers, and is not ranked
    return found, str(Status.UNSTABLE if unstable else verdict(found, run.suite.measure.margin))


def compare(run: Run, mine: CellResult | None, theirs: CellResult | None) -> str:
    """The ratio of two cells' rates with interval and verdict, or why there is none."""
    return told(*compared(run, mine, theirs))


def told(found: Ratio | None, said: str) -> str:
    return said if found is None else f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}] {said}"
