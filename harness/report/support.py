"""The matrix of what is supported, with a numbered reason for every N/A."""

import rich.table
from rich.console import Group, RenderableType
from rich.text import Text

from harness.core.models import MODELS
from harness.matrix import Planned


def support(planned: list[Planned]) -> RenderableType:
    """Return models by frameworks; an entry tells modes apart only where they differ."""
    rows = list(dict.fromkeys((p.cell.model, p.cell.device, p.cell.precision) for p in planned))
    columns = list(dict.fromkeys((p.cell.adapter, p.cell.variant) for p in planned))
    reasons: list[str] = []
    drawn = rich.table.Table()
    drawn.add_column("model")
    for adapter, variant in columns:
        drawn.add_column(Text(f"{adapter}\n{variant}"))
    for model, device, precision in rows:
        texts = [Text(f"{MODELS[model].title}, {device}, {precision}")]
        for adapter, variant in columns:
            mine = [
                p
                for p in planned
                if (p.cell.model, p.cell.device, p.cell.precision, p.cell.adapter, p.cell.variant)
                == (model, device, precision, adapter, variant)
            ]
            verdicts = {p.cell.mode: _verdict(p, reasons) for p in mine}
            alike = len(set(verdicts.values())) == 1
            texts.append(Text(next(iter(verdicts.values())) if alike else "\n".join(f"{mode}: {said}" for mode, said in verdicts.items())))
        drawn.add_row(*texts)
    modes = " and ".join(dict.fromkeys(p.cell.mode for p in planned))
    return Group(drawn, Text(f"For {modes}."), *(Text(f"[{number}] {reason}") for number, reason in enumerate(reasons, start=1)))


def _verdict(planned: Planned, reasons: list[str]) -> str:
    if planned.reason is None:
        return "yes"
    if planned.reason not in reasons:
        reasons.append(planned.reason)
    return f"N/A [{reasons.index(planned.reason) + 1}]"
