"""All tables of a run, by its protocol, for a terminal or as Markdown."""

from rich.console import RenderableType

from harness.report import iterations, latency, markdown, sheets, terminal
from harness.report.head_to_head import all_tables
from harness.results import Run

SHEETS = {"latency": latency.sheets, "iterations": iterations.sheets}


def rendered(run: Run, width: int) -> list[RenderableType]:
    """Return the tables for a terminal of ``width`` characters."""
    if run.suite.protocol in SHEETS:
        return [sheets.render(SHEETS[run.suite.protocol](run), width)]
    return [terminal.render(table, width) for table in all_tables(run)]


def as_markdown(run: Run) -> str:
    """Return the tables as Markdown."""
    if run.suite.protocol in SHEETS:
        return sheets.markdown(SHEETS[run.suite.protocol](run))
    return "\n".join(map(markdown.markdown, all_tables(run)))
