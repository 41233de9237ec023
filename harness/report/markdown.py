"""Tables as Markdown."""

from harness.report.tables import Entry, Table, ranked


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _cell(entry: Entry) -> str:
    text = f"**{entry.text}**" if entry.best else entry.text
    return text if entry.note is None else f"{text} [{entry.note}]"


def markdown(table: Table) -> str:
    """Return one table with its caption and notes."""
    lines = [f"### {_escape(table.title)}", ""]
    lines.append("| framework | " + " | ".join(map(_escape, table.columns)) + " |")
    lines.append("|---|" + "---:|" * len(table.columns))
    lines += ["| " + " | ".join([_escape(row.title), *map(_cell, row.entries)]) + " |" for row in table.rows]
    lines += [
        "",
        *map(_escape, table.caption),
        *(["Bold: fastest of its column, and what is not told apart from it."] if ranked(table) else []),
    ]
    if table.notes:
        lines += ["", *(f"[{number}] {_escape(note)}  " for number, note in enumerate(table.notes, start=1))]
    return "\n".join(lines) + "\n"
