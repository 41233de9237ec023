"""What is printed of a score."""

from typing import Any

from harness.gold.records import Value
from harness.report.sheets import Sheet, comma_separated, number, plus_minus
from harness.scoring.claims import Verdict
from harness.scoring.compare import Scored, by_model
from harness.scoring.order import Order
from harness.scoring.score import Ratios, Score

# Of the JSON form of a score. 1: first version.
VERSION = 1
NONE = "-"
RULES = (
    "Difference: (prediction - gold) / sqrt(sd of prediction² + sd of gold²), taking each ± for a standard deviation.",
    "tau: Kendall's tau-b of the means, for frameworks with a number on both sides.",
    "Pairs: a pair of frameworks is decided where the intervals mean ± spread do not touch; without a spread, by the means.",
    "Agreed: decided on both sides, the same way; reversed: the other way; undecided: within the spreads on either side.",
)


def sheets(score: Score) -> list[Sheet]:
    """Return a score as tables, for a terminal or Markdown."""
    found = [
        Sheet(f"{score.predictions} against gold '{score.gold}'", lines=(score.title, f"Gold ran on {score.hardware}.", *score.notes)),
        _cells("Throughputs", score.absolute),
        _agreement(score),
        _orders(score.orders),
        _means("Prediction / gold", score.absolute),
    ]
    if score.relative is not None:
        found += [
            _cells(f"Throughputs as multiples of {score.baseline}", score.relative),
            _means(f"Prediction / gold of the multiples of {score.baseline}", score.relative),
        ]
    if score.claims:
        found.append(_claims(score.claims))
    if score.not_compared:
        found.append(Sheet("Not compared", lines=score.not_compared))
    return [*found, Sheet("How to read this", lines=RULES)]


def value(found: Value | None, word: str = "N/A") -> str:
    """A number with its spread, or the word in its place."""
    return word if found is None else plus_minus(found.mean, found.std)


def _cells(title: str, ratios: Ratios) -> Sheet:
    rows = tuple(
        (
            pair.framework,
            pair.model,
            pair.unit,
            value(pair.prediction, pair.word),
            value(pair.gold),
            NONE if pair.ratio is None else number(pair.ratio),
            NONE if pair.deviations is None else f"{pair.deviations:+.1f} sd",
        )
        for pair in ratios.pairs
    )
    return Sheet(title, ("framework", "model", "unit", "prediction", "gold", "ratio", "difference"), rows, left=3, names=2)


def _agreement(score: Score) -> Sheet:
    counts = score.agreement
    rows = (
        ("gold has a number", str(counts.both_numbers), str(counts.only_gold)),
        ("gold has N/A", str(counts.only_prediction), str(counts.both_none)),
    )
    pairs = score.absolute.pairs
    differing = [pair for pair in pairs if not pair.missing and (pair.prediction is None) != (pair.gold is None)]
    lines = [
        f"{pair.framework}, {pair.model}: prediction {value(pair.prediction, pair.word)}, gold {value(pair.gold)}" for pair in differing
    ]
    if counts.missing:
        lines.append(f"{counts.missing} pairs of gold are missing in predictions and not counted.")
    for model, own in by_model(pair for pair in pairs if pair.missing).items():
        lines.append(f"Missing of {model}: {', '.join(pair.framework for pair in own)}")
    return Sheet("N/A", ("", "prediction has a number", "prediction has none"), rows, tuple(lines))


def _orders(orders: tuple[Order, ...]) -> Sheet:
    rows = tuple(
        (
            order.model,
            " > ".join(order.gold) or NONE,
            " > ".join(order.prediction) or NONE,
            NONE if order.tau is None else f"{order.tau:.2f}",
            *(str(order.count(outcome)) for outcome in ("agreed", "reversed", "undecided")),
        )
        for order in orders
    )
    lines = tuple(
        f"{order.model}: gold has {claim.faster} ahead of {claim.slower}; reversed"
        for order in orders
        for claim in order.claims
        if claim.outcome == "reversed"
    )
    return Sheet(
        "Who is faster",
        ("model", "order in gold", "order in predictions", "tau", "agreed", "reversed", "undecided"),
        rows,
        lines,
        left=3,
        names=1,
    )


def _means(title: str, ratios: Ratios) -> Sheet:
    rows = [(framework, number(mean)) for framework, mean in ratios.mean_by_framework.items()]
    rows += [("all", number(ratios.mean))] if ratios.mean is not None else []
    return Sheet(title, ("framework", "geometric mean of ratios"), tuple(rows))


def _claims(verdicts: tuple[Verdict, ...]) -> Sheet:
    rows = tuple(
        (
            verdict.claim,
            verdict.side,
            verdict.denominator,
            "no number" if verdict.holds is None else "holds" if verdict.holds else "fails",
            _worst(verdict),
            str(verdict.models),
            ", ".join(verdict.left_out) or NONE,
        )
        for verdict in verdicts
    )
    return Sheet("Claims", ("claim", "of", "denominator", "verdict", "worst", "models", "without a number"), rows, left=5, names=3)


def _worst(verdict: Verdict) -> str:
    if verdict.worst_percent is None:
        return NONE
    return f"{abs(verdict.worst_percent):.2f} % {'behind' if verdict.worst_percent >= 0 else 'ahead'} on {verdict.worst_model}"


def as_csv(score: Score) -> str:
    """Return the pairs of a score as CSV, the multiples of the baseline after the throughputs."""
    header = ("framework", "model", "unit", "prediction", "prediction_std", "gold", "gold_std", "ratio", "difference_sd")
    pairs = [*score.absolute.pairs, *(score.relative.pairs if score.relative else ())]
    return comma_separated(header, [_row(pair) for pair in pairs])


def _row(pair: Scored) -> tuple[str, ...]:
    def parts(found: Value | None, word: str) -> tuple[str, str]:
        return (word, "N/A") if found is None else (repr(found.mean), "N/A" if found.std is None else repr(found.std))

    derived = ("N/A" if found is None else repr(found) for found in (pair.ratio, pair.deviations))
    return (pair.framework, pair.model, pair.unit, *parts(pair.prediction, pair.word), *parts(pair.gold, "N/A"), *derived)


def document(score: Score) -> dict[str, Any]:
    """Return a score as what JSON can hold, with what is computed of each pair."""
    found = score.model_dump(mode="json")
    for key, ratios in (("absolute", score.absolute), ("relative", score.relative)):
        for shown, pair in zip(found[key]["pairs"] if ratios else (), ratios.pairs if ratios else (), strict=True):
            shown |= {"ratio": pair.ratio, "difference_sd": pair.deviations}
    return {"version": VERSION, **found}
