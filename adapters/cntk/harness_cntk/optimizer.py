"""The neutral optimizers as CNTK's learners.

A trainer hands a learner the sums of the samples' gradients, not their means.
"""

import math
from typing import Any, Dict, List

import cntk as C

from harness.core import Optimizer, Unsupported

Parameters = List[Any]


class Clipped(C.learners.UserLearner):  # type: ignore[misc]  # cntk carries no types
    """Another learner that is given gradients scaled down to a norm ``limit``, taken over all of them, where they exceed it.

    CNTK's own clipping is one parameter at a time.
    """

    def __init__(self, learner: Any, limit: float, device: Any) -> None:
        parameters = learner.parameters
        super().__init__(parameters, C.learning_parameter_schedule(1.0), as_numpy=False)  # the rate that acts is the other one's
        self.learner = learner
        self.device = device
        self.gradients = {p: C.input_variable(p.shape, dtype=p.dtype, dynamic_axes=[]) for p in parameters}
        rows = [C.reshape(gradient, (1, -1)) for gradient in self.gradients.values()]
        square = sum(C.times_transpose(row, row) for row in rows)
        # MKL's product of a row with itself is faster than a sum of squares, and rounds less.
        scale = C.element_min(limit / C.sqrt(C.reshape(square, ())), 1)
        scaled = {p: C.element_times(gradient, scale) for p, gradient in self.gradients.items()}
        self.function = C.combine(list(scaled.values()))
        self.scaled = {p: function.output for p, function in scaled.items()}

    def update(self, gradient_values: Dict[Any, Any], training_sample_count: int, sweep_end: bool) -> bool:
        values = {self.gradients[p]: C.Value(view) for p, view in gradient_values.items()}
        result = self.function.forward(values, list(self.scaled.values()), device=self.device, as_numpy=False)[1]
        views = {p: result[output].data for p, output in self.scaled.items()}
        return super(C.learners.Learner, self.learner)._update(views, training_sample_count, sweep_end)


def _sgd(parameters: Parameters, wanted: Optimizer, batch: int) -> Any:
    # Stated for a batch of this size, hyperparameters act on the mean of the samples' gradients, as they stand.
    return C.momentum_sgd(
        parameters,
        C.learning_parameter_schedule(wanted.lr, minibatch_size=batch),
        C.momentum_schedule(wanted.momentum, minibatch_size=batch),
        unit_gain=False,  # otherwise the gradient is scaled by 1 - momentum
    )


def _adam(parameters: Parameters, wanted: Optimizer, batch: int) -> Any:
    """Return CNTK's Adam with another decay of v in each step, for its epsilon stands beside the uncorrected root.

    In step t it does ``v = d * v + (1 - d) * g * g; w = w - rate * sqrt(1 - d^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)``.
    With the decay d chosen here, v is the corrected moment itself; the rate takes back the correction that is made all the same.
    """
    beta2, last = wanted.beta2, math.ceil(math.log(1e-17) / math.log(wanted.beta2))  # then 1 - beta2^t is 1, and d is beta2
    decays = [beta2 * (1 - beta2 ** (t - 1)) / (1 - beta2**t) for t in range(1, last + 1)]
    rates = [wanted.lr / math.sqrt(1 - decay**t) for t, decay in enumerate(decays, start=1)]
    return C.adam(
        parameters,
        C.learning_parameter_schedule_per_sample(rates, epoch_size=batch),
        C.momentum_schedule(wanted.beta1, minibatch_size=batch),
        unit_gain=True,
        variance_momentum=C.momentum_schedule(decays, epoch_size=batch, minibatch_size=batch),
        epsilon=wanted.epsilon * batch,  # a step does not change with the scale of gradients, but for this
    )


RULES = {"sgd": _sgd, "adam": _adam}


def make(wanted: Optimizer, parameters: Parameters, batch: int, device: Any) -> Any:
    """Return a learner of ``parameters``, which are on ``device``."""
    if wanted.name not in RULES:
        raise Unsupported("optimizer", "the CNTK adapter has sgd and adam, not %s" % wanted.name)
    learner = RULES[wanted.name](parameters, wanted, batch)
    return Clipped(learner, wanted.clip_norm * batch, device) if wanted.clip_norm else learner
