"""The small problem on which parity is proved, and the truth about it, computed once for all precisions."""

from typing import Dict, List, NamedTuple

from harness.core import data, reference
from harness.core.graph import Graph
from harness.core.hookspecs import Arrays, Optimizer
from harness.core.models import MODELS

# Some frameworks keep hyperparameters in float32 whatever the precision: MXNet's 0.01 is 2e-8 off, which would pass for a
# mistake of the float64 gate. These values are exact in both.
OPTIMIZERS = {
    "sgd": Optimizer("sgd", lr=1 / 128, momentum=7 / 8),
    # With an epsilon of the gradients' own size, its place in the formula shows, and rounding of tiny gradients does not.
    "adam": Optimizer("adam", lr=1 / 128, beta1=7 / 8, beta2=31 / 32, epsilon=1 / 1024),
}
CLIP_NORM = 1 / 4  # below the norms of all fixtures' gradients, so that clipping acts
BOUNDS = (-7 / 8, 7 / 8)  # within what the fixtures' values are drawn from, so that they act as well
NORM_MOMENTUM = 1 / 8


def gate_optimizer(model: str) -> Optimizer:
    """Return the model's optimizer with the gate's numbers."""
    wanted = MODELS[model].optimizer
    clip_norm, bounds = CLIP_NORM if wanted.clip_norm else 0.0, BOUNDS if wanted.bounds else None
    return OPTIMIZERS[wanted.name]._replace(clip_norm=clip_norm, bounds=bounds)


def cast(arrays: Arrays, dtype: str) -> Arrays:
    """Return copies, floats in ``dtype``."""
    return {name: array.astype(dtype if array.dtype.kind == "f" else array.dtype) for name, array in arrays.items()}


class Truth(NamedTuple):
    """What three training steps give: the first one whole, of the others the loss."""

    first: reference.Step
    later_losses: List[float]


class Problem:
    """A graph with weights and two batches, all values in float64 and exact in float32, so that both gates share the truth.

    Step 2 uses ``other_batch``: rows of a table that only the first batch asks for must still move by their moments.
    """

    def __init__(self, model: str, mode: str) -> None:
        fixture = MODELS[model].parity
        whole = MODELS[model].small().without_dropout().with_attrs("batch_norm", momentum=NORM_MOMENTUM)
        batches = [data.batch(whole, fixture.batch, fixture.seed + shift, "float64") for shift in (0, 1)]
        weights = reference.calibrated(whole, data.weights(whole, fixture.seed, "probe", "float64"), batches[0])
        self.graph: Graph = whole if mode == "train" else whole.for_inference()
        self.optimizer = gate_optimizer(model)
        self.weights = _rounded(weights)
        self.batch, self.other_batch = (_rounded({spec.name: batch[spec.name] for spec in self.graph.inputs}) for batch in batches)
        self._truths: Dict[bool, Truth] = {}

    def outputs(self) -> Arrays:
        """What inference gives."""
        return reference.infer(self.graph, self.weights, self.batch)

    def truth(self, biased_running_var: bool) -> Truth:
        """What training gives, where the framework has this convention of the running variance."""
        if biased_running_var not in self._truths:
            first = reference.train_step(self.graph, self.weights, self.batch, self.optimizer, biased_running_var=biased_running_var)
            second = reference.train_step(
                self.graph, first.weights, self.other_batch, self.optimizer, first.state, biased_running_var=biased_running_var
            )
            third = reference.training_loss(self.graph, second.weights, self.batch)
            self._truths[biased_running_var] = Truth(first, [second.loss, third])
        return self._truths[biased_running_var]


def _rounded(arrays: Arrays) -> Arrays:
    return cast(cast(arrays, "float32"), "float64")
