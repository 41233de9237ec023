"""Dropout draws differ between frameworks, so its rate, scale and gradient are proved on a graph of its own.

The mask that a framework drew is read off its outputs; given the mask, everything else is determined.
"""

from typing import List, Tuple

import numpy as np

from harness.core import data
from harness.core.conformance.checks import Check, relative_error, update_error
from harness.core.conformance.tolerances import TOLERANCES
from harness.core.graph import Graph, GraphBuilder
from harness.core.hookspecs import Arrays, BuildRequest
from harness.core.ops import OPS, Pass
from harness.core.plugin import Hooks

RATE, FEATURES, WIDTH, BATCH = 0.5, 8, 4096, 4
# Standard deviation of the kept share of BATCH * WIDTH draws is 0.0039; six of them are never met by chance.
LIMIT = 6 * (RATE * (1 - RATE) / (WIDTH * BATCH)) ** 0.5


def drops(graph: Graph) -> bool:
    """Whether training on ``graph`` draws random numbers."""
    return any(node.op == "dropout" and node.attrs["rate"] > 0 for node in graph.nodes)


def _graph() -> Graph:
    b = GraphBuilder("dropout")
    wide = b.add("dense", "wide", b.input("x", (FEATURES,)), units=WIDTH, bias=True)
    dropped = b.add("dropout", "drop", wide, rate=RATE)
    logits = b.add("dense", "fc", dropped, units=2, bias=True)
    loss = b.add("softmax_cross_entropy", "loss", logits, b.input("labels", (), kind="index", high=2))
    return b.finish(outputs=(dropped,), loss=loss)


def _masked_step(weights: Arrays, batch: Arrays, kept: np.ndarray, lr: float) -> Tuple[np.ndarray, Arrays]:
    """Return what dropout gives for the mask ``kept``, and the weight below it after one step."""
    run, dense, loss = Pass(train=True), OPS["dense"], OPS["softmax_cross_entropy"]
    layers = {name: {role: weights["%s.%s" % (name, role)] for role in ("weight", "bias")} for name in ("wide", "fc")}
    wide, below = dense.forward("wide", {"bias": True}, [batch["x"]], layers["wide"], run)
    dropped = wide * kept / (1 - RATE)
    logits, above = dense.forward("fc", {"bias": True}, [dropped], layers["fc"], run)
    _, tape = loss.forward("loss", {}, [logits, batch["labels"]], {}, run)
    (grad, _), _ = loss.backward({}, tape, np.ones(()))
    (grad,), _ = dense.backward({"bias": True}, above, grad)
    _, grads = dense.backward({"bias": True}, below, grad * kept / (1 - RATE))
    return dropped, {"wide.weight": weights["wide.weight"] - lr * grads["weight"]}


def prove(hooks: Hooks, request: BuildRequest) -> List[Check]:
    """Train one step; compare the kept share with 1 - rate, and for the mask seen, values and the update below."""
    graph = _graph()
    dtype = "float64" if request.precision == "fp64" else "float32"
    weights, batch = data.weights(graph, 0, "probe", dtype), data.batch(graph, BATCH, 0, dtype)
    truth_from = {name: array.astype("float64") for name, array in weights.items()}
    session = hooks.build_model(graph, weights, request)
    try:
        hooks.train_step(session, hooks.stage_batch(session, batch))
        hooks.sync_device(session)
        results, after = hooks.read_results(session), hooks.read_weights(session)
    finally:
        hooks.close_model(session)
    dropped = np.asarray(results["outputs"]["drop"], "float64")
    what, limits = request.precision + " dropout ", TOLERANCES[request.precision]
    if dropped.shape != (BATCH, WIDTH):
        return [Check(what + "rate", float("inf"), LIMIT, "drop")]
    kept = dropped != 0
    values, updated = _masked_step(truth_from, data.batch(graph, BATCH, 0, dtype), kept, request.optimizer.lr)
    return [
        Check(what + "rate", abs(float(kept.mean()) - (1 - RATE)), LIMIT, "drop"),
        Check(what + "values", relative_error(dropped, values), limits.train_outputs, "drop"),
        Check(what + "gradient", update_error(truth_from, after, updated), limits.update_l2, "wide.weight"),
    ]
