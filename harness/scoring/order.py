"""Who is faster: the order of frameworks on each model, and each pair of them, in gold and in predictions."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import scipy.stats

from harness.gold.records import Record, Value
from harness.scoring.compare import Scored

Outcome = Literal["agreed", "reversed", "undecided"]


class Claim(Record):
    """Two frameworks on one model, by gold's order: ``faster`` is ahead of ``slower`` there."""

    faster: str
    slower: str
    outcome: Outcome


class Order(Record):
    """One model: its frameworks from fast to slow on both sides, and how far the two agree."""

    model: str
    gold: tuple[str, ...]
    prediction: tuple[str, ...]
    tau: float | None  # Kendall's tau-b of the means; None with fewer than two frameworks, or where all tie
    claims: tuple[Claim, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(claim.outcome == outcome for claim in self.claims)


def order(model: str, scored: Sequence[Scored]) -> Order:
    """Return the order of the frameworks that have a number on both sides.

    A pair is decided on one side where the intervals mean ± spread do not touch; a mean without a spread is an interval
    of no width. A pair undecided on either side is undecided; else the sides agree, or the prediction reverses gold.
    """
    sides = [(pair.framework, pair.gold, pair.prediction) for pair in scored if pair.gold is not None and pair.prediction is not None]
    by_gold = sorted(sides, key=lambda side: -side[1].mean)
    claims = [
        Claim(faster=one[0], slower=other[0], outcome=_outcome(ahead(one[1], other[1]), ahead(one[2], other[2])))
        for one, other in combinations(by_gold, 2)
    ]
    return Order(
        model=model,
        gold=tuple(side[0] for side in by_gold),
        prediction=tuple(side[0] for side in sorted(sides, key=lambda side: -side[2].mean)),
        tau=_tau([side[1].mean for side in sides], [side[2].mean for side in sides]),
        claims=tuple(claims),
    )


def ahead(one: Value, other: Value) -> int:
    """1 where ``one`` is faster beyond the spreads, -1 where ``other`` is, 0 where their intervals touch."""
    return 1 if one.low > other.high else -1 if other.low > one.high else 0


def _outcome(gold: int, prediction: int) -> Outcome:
    if gold == 0 or prediction == 0:
        return "undecided"
    return "agreed" if gold == prediction else "reversed"


def _tau(gold: list[float], prediction: list[float]) -> float | None:
    if len(gold) < 2:
        return None
    tau = float(scipy.stats.kendalltau(gold, prediction).statistic)
    return tau if math.isfinite(tau) else None
