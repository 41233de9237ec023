"""Predictions and gold, cell by cell: ratios, differences, and who has a number where."""

import math
from collections.abc import Iterable, Mapping

from harness.errors import UserError
from harness.gold import names
from harness.gold.published import Gold
from harness.gold.records import Record, Value
from harness.scoring.match import Matched
from harness.suggest import unknown


class Scored(Record):
    """One pair of gold. A value that is None is N/A; ``word`` is what stands in the prediction's place then."""

    framework: str
    model: str  # the gold column's name
    key: str  # what stands for its model under every name
    unit: str
    prediction: Value | None
    gold: Value | None
    word: str = "N/A"
    missing: bool = False  # predictions do not have the pair at all

    @property
    def both(self) -> bool:
        return self.prediction is not None and self.gold is not None

    @property
    def ratio(self) -> float | None:
        """Prediction / gold, where both are numbers."""
        return None if self.prediction is None or self.gold is None else self.prediction.mean / self.gold.mean

    @property
    def deviations(self) -> float | None:
        """(prediction - gold) / sqrt(spread of the one squared + that of the other), where both spreads exist and one is not 0."""
        if self.prediction is None or self.gold is None or self.prediction.std is None or self.gold.std is None:
            return None
        combined = math.hypot(self.prediction.std, self.gold.std)
        found = (self.prediction.mean - self.gold.mean) / combined if combined > 0 else math.inf
        return found if math.isfinite(found) else None


class Agreement(Record):
    """N/A against N/A: how many pairs of gold fall in each of the four fields, and how many predictions do not have."""

    both_numbers: int
    both_none: int
    only_gold: int
    only_prediction: int
    missing: int


def compare(matched: Matched, gold: Gold) -> tuple[Scored, ...]:
    """Return every pair of gold's frameworks and of the columns to score against, in gold's order."""
    found = []
    for column in matched.columns:
        for framework in gold.frameworks:
            entry = matched.pairs.get((framework, column.name))
            found.append(
                Scored(
                    framework=framework,
                    model=column.name,
                    key=column.key,
                    unit=column.unit,
                    prediction=entry.value if entry else None,
                    gold=gold.cells[framework, column.name],
                    word=entry.word if entry else "missing",
                    missing=entry is None,
                )
            )
    return tuple(found)


def agreement(scored: Iterable[Scored]) -> Agreement:
    """Count where both, one or neither of prediction and gold is a number."""
    pairs = list(scored)
    kinds = [(pair.prediction is not None, pair.gold is not None) for pair in pairs if not pair.missing]
    return Agreement(
        both_numbers=kinds.count((True, True)),
        both_none=kinds.count((False, False)),
        only_gold=kinds.count((False, True)),
        only_prediction=kinds.count((True, False)),
        missing=len(pairs) - len(kinds),
    )


def by_model(scored: Iterable[Scored]) -> dict[str, list[Scored]]:
    """The pairs of each column, in order."""
    found: dict[str, list[Scored]] = {}
    for pair in scored:
        found.setdefault(pair.model, []).append(pair)
    return found


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """The geometric mean of positive ratios; None of none."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def framework_of(scored: Iterable[Scored], name: str) -> str:
    """Return gold's own name for the framework called ``name``; raise ``UserError`` where gold has none of it."""
    known = {names.framework(pair.framework): pair.framework for pair in scored}
    if names.framework(name) not in known:
        raise UserError(unknown("framework of gold", name, known.values()))
    return known[names.framework(name)]


def relative_to(scored: Iterable[Scored], baseline: str) -> tuple[Scored, ...]:
    """Return the pairs with every throughput divided by ``baseline``'s of the same column and side.

    Gold and prediction ran on different hardware; what a framework makes of it next to another one may still agree. Spreads
    are those of independent errors, to first order. The baseline itself and columns where a side lacks it are left out.
    Raises ``UserError`` for a framework that gold does not have.
    """
    pairs = list(scored)
    base = framework_of(pairs, baseline)
    bases: Mapping[str, Scored] = {pair.model: pair for pair in pairs if pair.framework == base}
    return tuple(
        pair.model_copy(
            update={
                "unit": f"x {base}",
                "prediction": _over(pair.prediction, bases[pair.model].prediction),
                "gold": _over(pair.gold, bases[pair.model].gold),
            }
        )
        for pair in pairs
        if pair.framework != base and bases[pair.model].both
    )


def _over(value: Value | None, base: Value | None) -> Value | None:
    return None if value is None or base is None else value.over(base)
