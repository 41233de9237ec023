"""A score: everything that is said of predictions next to a gold table."""

from collections.abc import Sequence

from harness.errors import UserError
from harness.gold.published import Gold
from harness.gold.records import Record
from harness.scoring import claims
from harness.scoring.compare import Agreement, Scored, agreement, by_model, compare, framework_of, geometric_mean, relative_to
from harness.scoring.match import Choice, Stranger, differing_conditions, match
from harness.scoring.order import Order, order
from harness.scoring.predictions import Predictions


class Ratios(Record):
    """Pairs, and the geometric means of their ratios."""

    pairs: tuple[Scored, ...]
    mean: float | None  # None where no pair has a number on both sides
    mean_by_framework: dict[str, float]


class Score(Record):
    """The whole of it. ``relative`` is there with a baseline only; dividing a model's numbers by one changes no order."""

    predictions: str
    gold: str
    title: str
    hardware: str
    agreement: Agreement
    absolute: Ratios
    orders: tuple[Order, ...]
    baseline: str | None
    relative: Ratios | None
    claims: tuple[claims.Verdict, ...]
    not_compared: tuple[str, ...]
    notes: tuple[str, ...]


def score(
    predictions: Predictions, gold: Gold, choice: Choice | None = None, baseline: str | None = None, claimed: Sequence[str] = ()
) -> Score:
    """Return the score of ``predictions``; raise ``UserError`` where they cannot be matched, or a name is unknown."""
    matched = match(predictions.entries, gold, choice or Choice())
    if not matched.pairs:
        raise UserError(_nothing_fits(predictions, gold, matched.strangers))
    pairs = compare(matched, gold)
    base = None if baseline is None else framework_of(pairs, baseline)
    verdicts = [verdict for text in claimed for verdict in claims.check(claims.parse(text, pairs), pairs)]
    return Score(
        predictions=predictions.source,
        gold=gold.name,
        title=gold.title,
        hardware=gold.hardware,
        agreement=agreement(pairs),
        absolute=_ratios(pairs),
        orders=tuple(order(model, own) for model, own in by_model(pairs).items()),
        baseline=base,
        relative=None if base is None else _ratios(relative_to(pairs, base)),
        claims=tuple(verdicts),
        not_compared=tuple(map(_told, matched.strangers)),
        notes=(*predictions.notes, *differing_conditions(matched)),
    )


def _told(stranger: Stranger) -> str:
    entry = stranger.entry
    return f"{entry.framework}, {entry.model} ({entry.where}): {stranger.why}"


def _nothing_fits(predictions: Predictions, gold: Gold, strangers: Sequence[Stranger]) -> str:
    reasons = "".join(f"\n  {_told(stranger)}" for stranger in strangers[:5])
    more = f"\n  and {len(strangers) - 5} more" if len(strangers) > 5 else ""
    return f"{predictions.source}: none of {len(strangers)} predictions fits gold '{gold.name}':{reasons}{more}"


def _ratios(pairs: tuple[Scored, ...]) -> Ratios:
    by_framework: dict[str, list[float]] = {}
    for pair in pairs:
        if pair.ratio is not None:
            by_framework.setdefault(pair.framework, []).append(pair.ratio)
    means = {framework: geometric_mean(ratios) for framework, ratios in by_framework.items()}
    return Ratios(
        pairs=pairs,
        mean=geometric_mean([ratio for ratios in by_framework.values() for ratio in ratios]),
        mean_by_framework={framework: mean for framework, mean in means.items() if mean is not None},
    )
