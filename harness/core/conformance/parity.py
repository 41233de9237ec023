"""Parity: the same weights and batch as the reference must give the same outputs, loss and updated weights."""

import copy
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from harness.core import data, reference
from harness.core.conformance import dropout
from harness.core.conformance.checks import Check, relative_error, update_error, worst
from harness.core.conformance.tolerances import FULL_SIZE, TOLERANCES
from harness.core.errors import ContractError
from harness.core.graph import Graph
from harness.core.hookspecs import Arrays, Optimizer
from harness.core.jobs import Job
from harness.core.models import MODELS
from harness.core.plugin import Hooks

DTYPES = {"fp64": "float64", "fp32": "float32"}
# Some frameworks keep hyperparameters in float32 whatever the precision: MXNet's 0.01 is 2e-8 off, which would pass for a
# mistake of the float64 gate. These values are exact in both.
OPTIMIZERS = {
    "sgd": Optimizer("sgd", lr=1 / 128, momentum=7 / 8),
    # With an epsilon of the gradients' own size, its place in the formula shows, and rounding of tiny gradients does not.
    "adam": Optimizer("adam", lr=1 / 128, beta1=7 / 8, beta2=31 / 32, epsilon=1 / 1024),
}
CLIP_NORM = 1 / 4  # below the norms of all fixtures' gradients, so that clipping acts
NORM_MOMENTUM = 1 / 8
STEPS = 3


class Problem(NamedTuple):
    """The small problem of a proof. ``weights`` and the two batches are what the adapter gets; the truth is computed in
    float64 from the same values, rounding included, and from a graph that the adapter never sees."""

    graph: Graph
    weights: Arrays
    batch: Arrays
    other_batch: Arrays  # of step 2: rows of a table that only batch 1 asks for must still move by their moments

    def exact(self) -> "Problem":
        return Problem(self.graph, *(_cast(arrays, "float64") for arrays in self[1:]))


def _cast(arrays: Arrays, dtype: str) -> Arrays:
    """Return copies, floats in ``dtype``."""
    return {name: array.astype(dtype if array.dtype.kind == "f" else array.dtype) for name, array in arrays.items()}


def gate_optimizer(model: str) -> Optimizer:
    """Return the model's optimizer with the gate's numbers."""
    wanted = MODELS[model].optimizer
    return OPTIMIZERS[wanted.name]._replace(clip_norm=CLIP_NORM if wanted.clip_norm else 0.0)


def _problem(job: Job, precision: str) -> Problem:
    fixture = MODELS[job.model].parity
    graph = MODELS[job.model].small().without_dropout().with_attrs("batch_norm", momentum=NORM_MOMENTUM)
    batches = [data.batch(graph, fixture.batch, fixture.seed + shift, "float64") for shift in (0, 1)]
    weights = reference.calibrated(graph, data.weights(graph, fixture.seed, "probe", "float64"), batches[0])
    if job.mode == "infer":
        graph = graph.for_inference()
        batches = [{spec.name: batch[spec.name] for spec in graph.inputs} for batch in batches]
    return Problem(graph, *(_cast(arrays, DTYPES[precision]) for arrays in [weights] + batches))


def prove(hooks: Hooks, job: Job, precision: str) -> List[Check]:
    """Build ``job``'s model small at ``precision`` and compare inference, or one training step, with the reference.

    Momentum and moments act from the second step on: in float64 the losses of steps 2 and 3 are compared as well. Weights after
    more than one step are not, since rounding grows with every step.
    """
    fixture = MODELS[job.model].parity
    problem = _problem(job, precision)
    handed = copy.deepcopy(problem)
    session = hooks.build_model(handed.graph, handed.weights, job.request(precision, fixture.batch, gate_optimizer(job.model)))
    try:
        trial = Trial(hooks, session, hooks.stage_batch(session, handed.batch), hooks.stage_batch(session, handed.other_batch))
        if job.mode == "infer":
            checks = _inference(trial, problem, precision)
        else:
            checks = _training(trial, problem, gate_optimizer(job.model), precision)
        ledger = hooks.describe(session)
    finally:
        hooks.close_model(session)
    check_claims(job, ledger, precision, fixture.batch)
    if job.mode == "train" and dropout.drops(MODELS[job.model].small()):
        checks += dropout.prove(hooks, job.request(precision, dropout.BATCH, OPTIMIZERS["sgd"]))
    return checks


REPORTED = ("framework", "version", "device", "precision", "batch", "threads", "layout", "execution", "async_steps")


def check_claims(job: Job, ledger: Dict[str, Any], precision: str, batch: int) -> None:
    """Raise ``ContractError`` where what the adapter reports is not what it was asked for, or is missing."""
    missing = [name for name in REPORTED if name not in ledger]
    if missing:
        raise ContractError("adapter '%s': describe leaves out %s. See docs/hooks.md#describe." % (job.adapter, ", ".join(missing)))
    asked = {"precision": precision, "batch": batch, "device": job.device, "threads": len(job.cpus)}
    for setting, value in asked.items():
        if ledger[setting] != value:
            raise ContractError("adapter '%s' was asked for %s %s and reports %s" % (job.adapter, setting, value, ledger[setting]))


class Trial(NamedTuple):
    """A session with its staged batches, and the hooks to drive it."""

    hooks: Hooks
    session: Any
    staged: Any
    other_staged: Any

    def run(self, step: Callable[[Any, Any], None], other: bool = False) -> Dict[str, Any]:
        step(self.session, self.other_staged if other else self.staged)
        self.hooks.sync_device(self.session)
        return dict(self.hooks.read_results(self.session))


def _inference(trial: Trial, problem: Problem, precision: str) -> List[Check]:
    exact = problem.exact()
    truth = reference.infer(exact.graph, exact.weights, exact.batch)
    results = trial.run(trial.hooks.infer_step)
    return [worst(precision + " outputs", results["outputs"], truth, TOLERANCES[precision].infer_outputs)]


def _training(trial: Trial, problem: Problem, optimizer: Optimizer, precision: str) -> List[Check]:
    limits = TOLERANCES[precision]
    exact = problem.exact()
    first = trial.run(trial.hooks.train_step)
    after = trial.hooks.read_weights(trial.session)
    biased = trial.hooks.describe(trial.session).get("running_var") == "biased"
    truth = reference.train_step(exact.graph, exact.weights, exact.batch, optimizer, biased_running_var=biased)
    checks = [
        worst(precision + " outputs", first["outputs"], truth.outputs, limits.train_outputs),
        Check(precision + " loss", relative_error(first["loss"], truth.loss), limits.loss),
    ]
    trained, statistics = _parted(problem.graph, truth.weights)
    if statistics:
        checks.append(worst(precision + " running statistics", after, statistics, limits.train_outputs))
    checks.append(worst(precision + " weights after one step", after, trained, limits.weights))
    if checks[-1].passed:
        checks.append(Check(precision + " update", update_error(exact.weights, after, trained), limits.update_l2))
    if np.isfinite(limits.later_losses):
        for number in range(2, STEPS + 1):
            batch = exact.other_batch if number == 2 else exact.batch
            truth = reference.train_step(exact.graph, truth.weights, batch, optimizer, truth.state, biased)
            loss = trial.run(trial.hooks.train_step, other=number == 2)["loss"]
            checks.append(Check("%s loss of step %d" % (precision, number), relative_error(loss, truth.loss), limits.later_losses))
    return checks


def _parted(graph: Graph, weights: Arrays) -> Tuple[Arrays, Arrays]:
    """Return trained weights and running statistics: no gradient is in the latter, so float32 has them precisely."""
    trained = {name: array for name, array in weights.items() if graph.params[name].trainable}
    return trained, {name: array for name, array in weights.items() if name not in trained}


class Witness:
    """Checks the very session that is timed, at its full size, after its first step.

    Inference: the outputs of the first sample, which do not depend on the others, and that the others are there and finite.
    Training: the loss before any update; nothing can be said where dropout makes it random. The truth is computed when the
    witness is made, which is before an adapter gets its hands on graph and weights.
    """

    def __init__(self, job: Job, graph: Graph, weights: Arrays, batch: Arrays) -> None:
        self.job = job
        self.outputs: Arrays = {}
        self.loss: Optional[float] = None
        if job.mode == "infer":
            self.outputs = reference.infer(graph, weights, {name: array[:1] for name, array in batch.items()})
        elif not dropout.drops(graph):
            self.loss = reference.training_loss(graph, weights, batch)

    def checks(self, results: Dict[str, Any]) -> List[Check]:
        """Compare what the session's first step left. Without anything to compare the list is empty."""
        if self.loss is not None:
            return [Check("full-size loss", relative_error(results["loss"], self.loss), FULL_SIZE)]
        if not self.outputs:
            return []
        whole = {name: array for name, array in results["outputs"].items() if self._is_whole(np.asarray(array))}
        return [worst("full-size outputs", {name: array[:1] for name, array in whole.items()}, self.outputs, FULL_SIZE)]

    def _is_whole(self, array: np.ndarray) -> bool:
        return len(array) == self.job.batch and bool(np.isfinite(array).all())
