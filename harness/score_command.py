"""What `harness score` and `harness gold` do; cli.py says what they are called with, and prints what they return."""

import json
from collections.abc import Sequence
from typing import Any, get_args

from rich.console import RenderableType

from harness.config import Precision
from harness.errors import UserError
from harness.gold import names, published
from harness.report import golds, scores, sheets, terminal
from harness.scoring.match import Choice
from harness.scoring.predictions import load
from harness.scoring.score import score
from harness.suggest import unknown


def score_text(
    predictions: str, gold: str, baseline: str | None, claims: Sequence[str], variants: Sequence[str], form: str, **chosen: Any
) -> str | RenderableType:
    """Return the score of a run or table, in the form asked for."""
    if chosen["precision"] not in (None, *get_args(Precision)):
        raise UserError(f"--precision: {unknown('precision', chosen['precision'], get_args(Precision))}")
    choice = Choice(variants=dict(map(_variant, variants)), **chosen)
    found = score(load(predictions), published.load(gold), choice, baseline, claims)
    if form == "json":
        return json.dumps(scores.document(found), indent=1, ensure_ascii=False, allow_nan=False)
    if form == "csv":
        return scores.as_csv(found).rstrip("\n")
    parts = scores.sheets(found)
    return sheets.markdown(parts) if form == "markdown" else sheets.render(parts, terminal.console().width)


def _variant(text: str) -> tuple[str, str]:
    framework, _, variant = text.partition("=")
    if not variant:
        raise UserError(f"--variant '{text}': write FRAMEWORK=VARIANT, for example pytorch=compile.")
    return names.framework(framework), variant


def gold_list() -> RenderableType:
    """Return a line for each table that ships."""
    return sheets.render([golds.overview([published.load(name) for name in published.shipped()])], terminal.console().width)


def gold_show(name: str, form: str) -> str | RenderableType:
    """Return one gold table with its conditions, in the form asked for."""
    gold = published.load(name)
    if form == "csv":
        return golds.as_csv(gold).rstrip("\n")
    parts = [golds.table(gold)]
    return sheets.markdown(parts) if form == "markdown" else sheets.render(parts, terminal.console().width)
