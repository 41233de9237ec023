"""All tables of a run, by its protocol, for a terminal or as Markdown."""

from rich.console import RenderableType

from harness.report import iterations, latency, markdown, sheets, terminal
from harness.report.head_to_head import all_tables
from harness.report.overview import overview
from harness.results import Run

LARGE = 2_000  # cells: their tables have thousands of lines
SHEETS = {"latency": latency.sheets, "iterations": iterations.sheets}


def rendered(run: Run, width: int) -> list[RenderableType]:
    """Return the tables for a terminal of ``width`` characters, or an overview of a large run."""
    if len(run.cells) > LARGE:
        return [sheets.render([overview(run)], width)]
    if run.suite.protocol in SHEETS:
        return [sheets.render(SHEETS[run.suite.protocol](run), width)]
    return [terminal.render(table, width) for table in all_tables(run)]


def as_markdown(run: Run) -> str:
    """Return the tables as Markdown."""
    if run.suite.protocol in SHEETS:
        return sheets.markdown(SHEETS[run.suite.protocol](run))
    return "\n".join(map(markdown.markdown, all_tables(run)))
