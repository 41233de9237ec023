"""Claims in words, checked on numbers: "PyTorch within 17% of fastest", "MXNet faster than Chainer on AlexNet"."""

import re
from collections.abc import Callable, Sequence
from typing import Literal

from harness.errors import UserError
from harness.gold import cells, names
from harness.gold.records import Record, Value
from harness.scoring.compare import Scored, by_model, framework_of
from harness.suggest import unknown

FORMS = '"PyTorch within 17% of fastest", "PyTorch within 5% of MXNet on AlexNet" or "MXNet faster than Chainer"'
Side = Literal["gold", "prediction"]
ROUNDING = 1e-9  # percent; 1 - 83 / 100 is a little more than 17 % in floating point
_WITHIN = re.compile(r"(.+?) within ([0-9]{1,3}(?:\.[0-9]{1,6})?) ?% of (?:the )?(.+?)(?: on (.+))?", re.IGNORECASE)
_FASTER = re.compile(r"(.+?) faster than (.+?)(?: on (.+))?", re.IGNORECASE)


class Statement(Record):
    """A claim that was understood. ``percent`` is None for "faster than"; ``other`` is None for the fastest."""

    text: str
    framework: str
    other: str | None
    percent: float | None
    columns: tuple[str, ...] | None  # of gold, that it is about; None is all


class Verdict(Record):
    """A claim in one reading, on one side: whether it holds on every model, and the model where it is closest to failing."""

    claim: str
    side: Side
    denominator: str  # of the gap, and the gap as a formula
    holds: bool | None  # None where there is no model to check it on
    worst_model: str | None
    worst_percent: float | None  # how far behind, on that model; negative is ahead
    models: int
    left_out: tuple[str, ...]  # models where a framework of the claim has no number


def parse(text: str, scored: Sequence[Scored]) -> Statement:
    """Return what ``text`` claims of the frameworks and models of ``scored``; raise ``UserError`` for what is not understood."""
    words = " ".join(text.split())
    if len(words) > 300:
        raise UserError(f"--claim {cells.shown(words)}: is too long for a claim. Write {FORMS}.")
    within, faster = _WITHIN.fullmatch(words), _FASTER.fullmatch(words)
    if within:
        framework, percent, other, model = within[1], float(within[2]), within[3], within[4]
    elif faster:
        framework, percent, other, model = faster[1], None, faster[2], faster[3]
    else:
        raise UserError(f"--claim {cells.shown(words)}: is not understood. Write {FORMS}.")
    fastest = percent is not None and names.fold(other) in {"fastest", "fastestframework"}
    return Statement(
        text=words,
        framework=framework_of(scored, framework),
        other=None if fastest else framework_of(scored, other),
        percent=percent,
        columns=None if model is None else _columns(model, scored),
    )


def _columns(model: str, scored: Sequence[Scored]) -> tuple[str, ...]:
    """The gold column of that heading, or else all columns of that model."""
    own = [pair.model for pair in scored if names.fold(pair.model) == names.fold(model)]
    same = [pair.model for pair in scored if pair.key == names.heading(model).model]
    if not own and not same:
        raise UserError(unknown("model of gold", model, {pair.model for pair in scored}))
    return tuple(dict.fromkeys(own or same))


def check(statement: Statement, scored: Sequence[Scored]) -> list[Verdict]:
    """Return the verdicts on gold and on predictions, of means alone.

    "Within N % of B" has two readings, since a gap of A behind B is a part of B, 1 - A / B, or of A itself, B / A - 1; the second
    is never the smaller one. Both are given. A model where no other framework has a number says nothing of the fastest.
    """
    sides: dict[Side, Callable[[Scored], Value | None]] = {"gold": lambda pair: pair.gold, "prediction": lambda pair: pair.prediction}
    verdicts = []
    for side, value in sides.items():
        compared, left_out = _compared(statement, scored, value)
        for reading, gap in _readings(statement).items():
            gaps = {model: 100 * gap(own, rival) for model, (own, rival) in compared.items()}
            verdicts.append(_verdict(statement, side, reading, gaps, left_out))
    return verdicts


def _compared(
    statement: Statement, scored: Sequence[Scored], value: Callable[[Scored], Value | None]
) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
    """By model, the means of the claim's framework and of its rival; and the models where one of them has none."""
    compared, left_out = {}, []
    for model, pairs in by_model(scored).items():
        if statement.columns is not None and model not in statement.columns:
            continue
        means = {pair.framework: number.mean for pair in pairs if (number := value(pair)) is not None}
        own = means.get(statement.framework)
        rival = means.get(statement.other) if statement.other else max(means.values()) if len(means) > 1 else None
        if own is None or rival is None:
            left_out.append(model)
        else:
            compared[model] = (own, rival)
    return compared, tuple(left_out)


def _readings(statement: Statement) -> dict[str, Callable[[float, float], float]]:
    """By the denominator in words, how far the framework is behind, as a part of it."""
    own, rival = statement.framework, statement.other or "the fastest"
    of_rival = {f"{rival}: 1 - {own} / {rival}": lambda own, rival: 1 - own / rival}
    if statement.percent is None:
        return of_rival
    return of_rival | {f"{own}: {rival} / {own} - 1": lambda own, rival: rival / own - 1}


def _verdict(statement: Statement, side: Side, reading: str, gaps: dict[str, float], left_out: tuple[str, ...]) -> Verdict:
    worst = max(gaps, key=lambda model: gaps[model], default=None)
    return Verdict(
        claim=statement.text,
        side=side,
        denominator=reading,
        holds=None if worst is None else _holds(statement, gaps[worst]),
        worst_model=worst,
        worst_percent=None if worst is None else gaps[worst],
        models=len(gaps),
        left_out=left_out,
    )


def _holds(statement: Statement, percent: float) -> bool:
    return percent < 0 if statement.percent is None else percent <= statement.percent + ROUNDING
