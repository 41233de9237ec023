"""How far two right implementations may differ, per precision, and why.

Errors are max|a - b| / max|b| over a tensor, the worst tensor counting. Measured on ResNet-18 at 64 pixels, right
implementations stay at 1e-12 of the reference in float64 and at 8e-7 (inference) or 5e-6 (training) in float32, while
the smallest mistakes met in practice (a wrong epsilon, a biased variance, a missed permutation) cost 1e-3 and more.
Float32 gradients are another matter: where a ReLU input lies within rounding of zero its gradient may flip, and that
alone moves a tensor of an update by parts in a thousand. So float32 weights and updates (one vector, relative L2) are
compared loosely, and float64 is where they are proved.

TF32 and fp16 round to 11 bits (5e-4), bf16 to 8 (4e-3), in every layer anew. What they are compared for is that nothing broke and
that the precision is really in effect; the mathematics is proved in float64.
"""

from typing import Dict, NamedTuple


class Tolerance(NamedTuple):
    """Limits of the relative error. Running statistics are judged like ``train_outputs``; ``later_losses`` are those of
    steps 2 and 3, where momentum has acted."""

    infer_outputs: float
    train_outputs: float
    loss: float
    weights: float
    update_l2: float
    later_losses: float


TOLERANCES: Dict[str, Tolerance] = {
    "fp64": Tolerance(1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9),
    "fp32": Tolerance(1e-5, 1e-4, 1e-5, 1e-2, 1e-2, float("inf")),
    "tf32": Tolerance(1e-2, 1e-2, 1e-2, 1e-1, 2e-1, float("inf")),
    "fp16": Tolerance(1e-2, 1e-2, 1e-2, 1e-1, 2e-1, float("inf")),
    "bf16": Tolerance(5e-2, 5e-2, 5e-2, 2e-1, 5e-1, float("inf")),
}
EXACT = ("fp64", "fp32")  # the others must show their rounding

# The timed session itself is checked at full size against a float32 reference: two float32 errors add up.
FULL_SIZE = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2, "bf16": 5e-2}
