"""Parity: the same weights and batch as the reference must give the same outputs, loss and updated weights."""

from typing import Any, Callable, Dict, List, NamedTuple

import numpy as np

from harness.core import data, reference
from harness.core.conformance import dropout
from harness.core.conformance.checks import Check, relative_error, worst
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
OPTIMIZER = Optimizer(lr=1 / 128, momentum=7 / 8)
NORM_MOMENTUM = 1 / 8
STEPS = 3


def _update_error(before: Arrays, after: Arrays, truth: Arrays) -> float:
    """Relative L2 distance of the whole update, as one vector over all parameters."""
    difference = sum(float(np.square(np.asarray(after[k], "float64") - truth[k]).sum()) for k in truth)
    length = sum(float(np.square(truth[k] - before[k]).sum()) for k in truth)
    return float(np.sqrt(difference / length))


def prove(hooks: Hooks, job: Job, precision: str) -> List[Check]:
    """Build ``job``'s model small at ``precision`` and compare inference, or one training step, with the reference.

    Momentum acts from the second step on: in float64 the losses of steps 2 and 3 are compared as well. Weights after
    more than one step are not, since rounding grows with every step.
    """
    fixture = MODELS[job.model].parity
    whole = MODELS[job.model].build(fixture.size).without_dropout().with_attrs("batch_norm", momentum=NORM_MOMENTUM)
    graph = whole if job.mode == "train" else whole.for_inference()
    exact_weights = data.weights(graph, fixture.seed, "probe", "float64")
    exact_batch = data.batch(graph, fixture.batch, fixture.seed, "float64")
    dtype = DTYPES[precision]
    weights = {name: array.astype(dtype) for name, array in exact_weights.items()}
    batch = {name: array.astype(dtype) if array.dtype.kind == "f" else array for name, array in exact_batch.items()}
    if precision != "fp64":  # the reference starts from what the framework was given, rounding included
        exact_weights = {name: array.astype("float64") for name, array in weights.items()}
        exact_batch = {name: array.astype("float64") if array.dtype.kind == "f" else array for name, array in batch.items()}
    session = hooks.build_model(graph, weights, job.request(precision, fixture.batch, OPTIMIZER))
    try:
        trial = Trial(hooks, session, hooks.stage_batch(session, batch))
        if job.mode == "infer":
            checks = _inference(trial, graph, exact_weights, exact_batch, precision)
        else:
            checks = _training(trial, graph, exact_weights, exact_batch, precision)
        ledger = hooks.describe(session)
    finally:
        hooks.close_model(session)
    check_claims(job, ledger, precision, fixture.batch)
    if job.mode == "train" and dropout.drops(MODELS[job.model].build(fixture.size)):
        checks.append(dropout.prove(hooks, job.request(precision, dropout.BATCH, OPTIMIZER)))
    return checks


def check_claims(job: Job, ledger: Dict[str, Any], precision: str, batch: int) -> None:
    """Raise ``ContractError`` where what the adapter reports is not what it was asked for."""
    asked = {"precision": precision, "batch": batch, "device": job.device, "threads": len(job.cpus)}
    for setting, value in asked.items():
        if ledger.get(setting) != value:
            found = ledger.get(setting, "nothing")
            raise ContractError("adapter '%s' was asked for %s %s and reports %s" % (job.adapter, setting, value, found))


class Trial(NamedTuple):
    """A session with its staged batch, and the hooks to drive it."""

    hooks: Hooks
    session: Any
    staged: Any

    def run(self, step: Callable[[Any, Any], None]) -> Dict[str, Any]:
        step(self.session, self.staged)
        self.hooks.sync_device(self.session)
        return dict(self.hooks.read_results(self.session))


def _inference(trial: Trial, graph: Graph, weights: Arrays, batch: Arrays, precision: str) -> List[Check]:
    truth = reference.infer(graph, weights, batch)
    results = trial.run(trial.hooks.infer_step)
    return [worst(precision + " outputs", results["outputs"], truth, TOLERANCES[precision].infer_outputs)]


def _training(trial: Trial, graph: Graph, weights: Arrays, batch: Arrays, precision: str) -> List[Check]:
    limits = TOLERANCES[precision]
    first = trial.run(trial.hooks.train_step)
    biased = trial.hooks.describe(trial.session).get("running_var") == "biased"
    truth = reference.train_step(graph, weights, batch, OPTIMIZER, {}, biased)
    checks = [
        worst(precision + " outputs", first["outputs"], truth.outputs, limits.train_outputs),
        Check(precision + " loss", relative_error(first["loss"], truth.loss), limits.loss),
        worst(precision + " weights after one step", first["weights"], truth.weights, limits.weights),
    ]
    if checks[-1].passed:
        checks.append(Check(precision + " update", _update_error(weights, first["weights"], truth.weights), limits.update_l2))
    if np.isfinite(limits.later_losses):
        for number in range(2, STEPS + 1):
            truth = reference.train_step(graph, truth.weights, batch, OPTIMIZER, truth.velocity, biased)
            loss = trial.run(trial.hooks.train_step)["loss"]
            checks.append(Check("%s loss of step %d" % (precision, number), relative_error(loss, truth.loss), limits.later_losses))
    return checks


def witness(job: Job, graph: Graph, weights: Arrays, batch: Arrays, results: Dict[str, Any]) -> List[Check]:
    """Check the very session that is timed, at its full size, after its first step.

    Inference: outputs of the first sample, which do not depend on the others. Training: the loss before any update;
    nothing can be said where dropout makes it random, and then the list is empty.
    """
    if job.mode == "infer":
        one = {name: array[:1] for name, array in batch.items()}
        first = {name: array[:1] for name, array in results["outputs"].items()}
        return [worst("full-size outputs", first, reference.infer(graph, weights, one), FULL_SIZE)]
    if dropout.drops(graph):
        return []
    truth = reference.training_loss(graph, weights, batch)
    return [Check("full-size loss", relative_error(results["loss"], truth), FULL_SIZE)]
