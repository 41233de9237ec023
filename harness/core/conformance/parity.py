"""Parity: the same weights and batch as the reference must give the same outputs, loss and updated weights."""

import copy
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

from harness.core import reference
from harness.core.conformance import dropout
from harness.core.conformance.checks import Check, relative_error, update_error, worst
from harness.core.conformance.problem import OPTIMIZERS, Problem, cast
from harness.core.conformance.tolerances import EXACT, FULL_SIZE, TOLERANCES
from harness.core.errors import ContractError
from harness.core.graph import Graph
from harness.core.hookspecs import Arrays
from harness.core.jobs import Job
from harness.core.models import MODELS
from harness.core.plugin import Hooks

DTYPES = {"fp64": "float64"}  # the others are given float32, from which an adapter rounds, and are read back in it or in their own


def prove(hooks: Hooks, job: Job, precision: str, problem: Problem) -> List[Check]:
    """Build ``problem`` at ``precision`` and compare inference, or training steps, with the reference.

    Momentum and moments act from the second step on: in float64 the losses of steps 2 and 3 are compared as well. Weights after
    more than one step are not, since rounding grows with every step.
    """
    fixture, dtype = MODELS[job.model].parity, DTYPES.get(precision, "float32")
    graph, weights = copy.deepcopy(problem.graph), cast(problem.weights, dtype)  # what is proved against stays out of reach
    session = hooks.build_model(graph, weights, job.request(precision, fixture.batch, problem.optimizer))
    try:
        staged = [hooks.stage_batch(session, cast(batch, dtype)) for batch in (problem.batch, problem.other_batch)]
        trial = Trial(hooks, session, staged[0], staged[1])
        checks = _inference(trial, problem, precision) if job.mode == "infer" else _training(trial, problem, precision)
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
    results = trial.run(trial.hooks.infer_step)
    check = worst(precision + " outputs", results["outputs"], problem.outputs(), TOLERANCES[precision].infer_outputs)
    return [check] if precision in EXACT else [check, shows(precision, check.error)]


def shows(precision: str, error: float) -> Check:
    """Check that a coarse precision is in effect: outputs as good as float32's were not computed in it."""
    return Check("%s rounding that does not show" % precision, TOLERANCES["fp32"].infer_outputs / max(error, 1e-300), 1.0)


def _training(trial: Trial, problem: Problem, precision: str) -> List[Check]:
    limits = TOLERANCES[precision]
    results = trial.run(trial.hooks.train_step)
    after = trial.hooks.read_weights(trial.session)
    truth = problem.truth(trial.hooks.describe(trial.session).get("running_var") == "biased")
    checks = [
        worst(precision + " outputs", results["outputs"], truth.first.outputs, limits.train_outputs),
        Check(precision + " loss", relative_error(results["loss"], truth.first.loss), limits.loss),
    ]
    if precision not in EXACT:
        checks.append(shows(precision, checks[0].error))
    kinds = _parted(problem.graph, truth.first.weights)
    trained = kinds.pop("trained")
    checks += [worst("%s %s" % (precision, kind), after, arrays, limits.train_outputs) for kind, arrays in sorted(kinds.items())]
    checks.append(worst(precision + " weights after one step", after, trained, limits.weights))
    if checks[-1].passed:
        checks.append(Check(precision + " update", update_error(problem.weights, after, trained), limits.update_l2))
    if np.isfinite(limits.later_losses):
        for number, expected in enumerate(truth.later_losses, start=2):
            loss = trial.run(trial.hooks.train_step, other=number == 2)["loss"]
            checks.append(Check("%s loss of step %d" % (precision, number), relative_error(loss, expected), limits.later_losses))
    return checks


def _parted(graph: Graph, weights: Arrays) -> Dict[str, Arrays]:
    """Return weights by what they are: "trained", and others without a gradient in them, so that float32 has them precisely."""
    kinds: Dict[str, Arrays] = {}
    for name, array in weights.items():
        spec = graph.params[name]
        fixed = "running statistics" if spec.role in ("mean", "var") else "frozen weights"
        kinds.setdefault("trained" if spec.trainable else fixed, {})[name] = array
    return kinds


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
            return [Check("full-size loss", relative_error(results["loss"], self.loss), FULL_SIZE[self.job.precision])]
        if not self.outputs:
            return []
        whole = {name: array for name, array in results["outputs"].items() if self._is_whole(np.asarray(array))}
        return [worst("full-size outputs", {name: array[:1] for name, array in whole.items()}, self.outputs, FULL_SIZE[self.job.precision])]

    def _is_whole(self, array: np.ndarray) -> bool:
        return len(array) == self.job.batch and bool(np.isfinite(array).all())
