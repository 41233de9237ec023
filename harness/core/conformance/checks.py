"""One comparison with the reference, and how its error is measured."""

from typing import Any, NamedTuple

import numpy as np

from harness.core.hookspecs import Arrays


class Check(NamedTuple):
    """One comparison: its relative error, the limit, and the tensor that was worst."""

    what: str
    error: float
    limit: float
    worst: str = ""

    @property
    def passed(self) -> bool:
        return self.error <= self.limit  # False for NaN


def relative_error(value: Any, truth: Any) -> float:
    """Return max|value - truth| / max|truth|; infinite where the shapes differ or a value is not finite."""
    value, truth = np.asarray(value, dtype="float64"), np.asarray(truth, dtype="float64")
    if value.shape != truth.shape or not np.isfinite(value).all():
        return float("inf")
    return float(np.abs(value - truth).max() / max(np.abs(truth).max(), 1e-300))


def worst(what: str, values: Arrays, truths: Arrays, limit: float) -> Check:
    """Compare every tensor of ``truths``; a missing one is infinitely wrong."""
    errors = {name: relative_error(values[name], truth) if name in values else float("inf") for name, truth in truths.items()}
    name = max(errors, key=lambda key: errors[key])
    return Check(what, errors[name], limit, name)


def update_error(before: Arrays, after: Arrays, truth: Arrays) -> float:
    """Relative L2 distance of the whole update, as one vector over all parameters."""
    difference = sum(float(np.square(np.asarray(after[k], "float64") - truth[k]).sum()) for k in truth)
    length = sum(float(np.square(truth[k] - before[k]).sum()) for k in truth)
    return float(np.sqrt(difference / max(length, 1e-300)))
