"""The reference executor: a graph run op by op in numpy, forward, backward and one optimiser step.

Slow and obvious on purpose. Its precision is that of the weights and batch it is given.
"""

from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from harness.core.graph import Graph, Node
from harness.core.hookspecs import Optimizer
from harness.core.ops import OPS, Pass
from harness.core.optimizers import START, State, update

Arrays = Dict[str, np.ndarray]


class Step(NamedTuple):
    """What one training step leaves behind."""

    outputs: Arrays
    loss: float
    weights: Arrays
    state: State
    relu_margin: float


def _forward(graph: Graph, weights: Arrays, batch: Arrays, run: Pass, record: bool = False) -> Tuple[Arrays, List[Tuple[Node, Any]]]:
    values = dict(batch)
    readers = graph.consumers()
    tape = []
    for node in graph.nodes:
        params = {role: weights[name] for role, name in node.params.items()}
        xs = [values[name] for name in node.inputs]
        values[node.name], saved = OPS[node.op].forward(node.name, node.attrs, xs, params, run)
        if record:
            tape.append((node, saved))
        for name in node.inputs:  # free what nobody reads any more: full-size maps are large
            readers[name] -= 1
            if not readers[name]:
                del values[name]
    return values, tape


def _backward(graph: Graph, tape: List[Tuple[Node, Any]], seed: np.ndarray) -> Arrays:
    pending = {graph.loss: seed}
    grads: Arrays = {}
    frozen = {name for name, spec in graph.params.items() if not spec.trainable}
    for node, saved in reversed(tape):
        if node.name not in pending:
            continue  # the loss does not depend on it
        input_grads, param_grads = OPS[node.op].backward(node.attrs, saved, pending.pop(node.name))
        for role, grad in param_grads.items():
            name = node.params[role]
            if name in frozen:
                continue
            grads[name] = grads[name] + grad if name in grads else grad  # tied nodes add up
        for name, grad in zip(node.inputs, input_grads):
            if grad is not None:
                pending[name] = pending[name] + grad if name in pending else grad
    return grads


def calibrated(graph: Graph, weights: Arrays, batch: Arrays) -> Arrays:
    """Return ``weights`` with running statistics that fit ``batch``, but not exactly.

    With statistics drawn blindly a deep network fades or explodes in inference, and then no output depends on the image.
    The statistics in ``weights`` are taken as relative: the mean as an offset in standard deviations, the variance as a factor.
    """
    if all(node.op != "batch_norm" for node in graph.nodes):
        return dict(weights)
    fitted = graph.with_attrs("batch_norm", momentum=1.0)  # then the updates are the batch's own statistics
    run = Pass(train=True)
    _forward(fitted, weights, batch, run)
    after = dict(weights)
    for node in graph.nodes:
        if node.op == "batch_norm":
            mean, var = node.params["mean"], node.params["var"]
            spread = run.updates[node.name, "var"]
            after[mean] = run.updates[node.name, "mean"] + weights[mean] * np.sqrt(spread)
            after[var] = spread * weights[var]
    return after


def infer(graph: Graph, weights: Arrays, batch: Arrays) -> Arrays:
    """Return the outputs by name, batch normalisation in inference mode."""
    values, _ = _forward(graph, weights, batch, Pass(train=False))
    return {name: values[name] for name in graph.outputs}


def values(graph: Graph, weights: Arrays, names: List[str]) -> Arrays:
    """Return the tensors ``names`` of a graph that need no input."""
    part = Graph(graph.name, (), graph.nodes, graph.params, tuple(names), "").for_inference()
    return infer(part, weights, {})


def training_loss(graph: Graph, weights: Arrays, batch: Arrays) -> float:
    """Return the loss of one training forward pass, without a backward pass."""
    values, _ = _forward(graph, weights, batch, Pass(train=True))
    return float(values[graph.loss])


def train_step(
    graph: Graph, weights: Arrays, batch: Arrays, optimizer: Optimizer, state: State = START, biased_running_var: bool = False
) -> Step:
    """Return the state after one step of ``optimizer`` from ``weights`` and ``state`` (by default that of the very first step)."""
    run = Pass(train=True, biased_running_var=biased_running_var)
    values, tape = _forward(graph, weights, batch, run, record=True)
    loss = values[graph.loss]
    after, state = update(optimizer, weights, _backward(graph, tape, np.ones_like(loss)), state)
    for node in graph.nodes:
        for role, name in node.params.items():
            if (node.name, role) in run.updates:
                after[name] = run.updates[node.name, role]
    return Step({name: values[name] for name in graph.outputs}, float(loss), after, state, run.relu_margin)
