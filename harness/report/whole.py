"""All tables of a run, by its protocol: for a terminal, as Markdown, or as a page for a browser."""

from rich.console import RenderableType

from harness.report import iterations, latency, markdown, rows, sheets, terminal
from harness.report.head_to_head import all_tables
from harness.report.overview import overview
from harness.report.sheets import Sheet
from harness.report.tables import Table
from harness.results import Run

LARGE = 2_000  # cells: their tables have thousands of lines
SHEETS = {"latency": latency.sheets, "iterations": iterations.sheets}


def _tables(run: Run) -> list[Table | Sheet]:
    """Every table."""
    return [*(SHEETS[run.suite.protocol](run) if run.suite.protocol in SHEETS else all_tables(run))]


def _short(run: Run) -> list[Table | Sheet]:
    """Every table, or of a large run an overview."""
    return [overview(run)] if len(run.cells) > LARGE else _tables(run)


def rendered(run: Run, width: int) -> list[RenderableType]:
    """Return the tables for a terminal of ``width`` characters, or an overview of a large run."""
    return [terminal.render(one, width) if isinstance(one, Table) else sheets.render([one], width) for one in _short(run)]


def as_markdown(run: Run) -> str:
    """Return the tables as Markdown."""
    return "\n".join(markdown.markdown(one) if isinstance(one, Table) else sheets.markdown([one]) for one in _tables(run))


def as_page(run: Run) -> str:
    """Return the tables with charts and what each number rests on, or an overview of a large run, as HTML."""
    from harness.report.page import page  # jinja2 is slow to load, and what is typed most often does not need it

    return page(run, _short(run), whole=len(run.cells) <= LARGE)


FORMS = {"markdown": as_markdown, "html": as_page, "csv": rows.as_csv}  # for files and other programs
