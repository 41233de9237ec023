"""The matrix of what is supported, with a numbered reason for every N/A."""

from harness.core.models import MODELS
from harness.matrix import Planned
from harness.report.sheets import Sheet


def support(planned: list[Planned]) -> Sheet:
    """Return models by frameworks; a model whose modes differ has a row for each."""
    found: dict[tuple[str, str, str], dict[str, dict[tuple[str, str], Planned]]] = {}
    for item in planned:
        cell = item.cell
        modes = found.setdefault((cell.model, cell.device, cell.precision), {})
        modes.setdefault(cell.mode, {})[cell.adapter, cell.variant] = item
    columns = list(dict.fromkeys((item.cell.adapter, item.cell.variant) for item in planned))
    reasons: dict[str, int] = {}
    rows: list[tuple[str, ...]] = []
    for (model, device, precision), modes in found.items():
        entries = {mode: tuple(_verdict(row[column], reasons) for column in columns) for mode, row in modes.items()}
        alike = len(set(entries.values())) == 1
        for mode, own in list(entries.items())[: 1 if alike else None]:
            rows.append((f"{MODELS[model].title}, {device}, {precision}" + ("" if alike else f", {mode}"), *own))
    every = " and ".join(dict.fromkeys(item.cell.mode for item in planned))
    notes = tuple(f"[{number}] {reason}" for reason, number in reasons.items())
    return Sheet(f"What is supported, for {every}", ("model", *map(" ".join, columns)), tuple(rows), notes)


def _verdict(planned: Planned, reasons: dict[str, int]) -> str:
    if planned.reason is None:
        return "yes"
    return f"N/A [{reasons.setdefault(planned.reason, len(reasons) + 1)}]"
