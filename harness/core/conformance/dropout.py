"""Dropout draws differ between frameworks, so its rate and scale are proved on a graph of its own."""

import numpy as np

from harness.core import data
from harness.core.conformance.checks import Check
from harness.core.graph import Graph, GraphBuilder
from harness.core.hookspecs import BuildRequest
from harness.core.plugin import Hooks

RATE, WIDTH, BATCH = 0.5, 4096, 4
# Standard deviation of the kept share of BATCH * WIDTH draws is 0.0039; six of them are never met by chance.
LIMIT = 6 * (RATE * (1 - RATE) / (WIDTH * BATCH)) ** 0.5


def drops(graph: Graph) -> bool:
    """Whether training on ``graph`` draws random numbers."""
    return any(node.op == "dropout" and node.attrs["rate"] > 0 for node in graph.nodes)


def _graph() -> Graph:
    b = GraphBuilder("dropout")
    x = b.add("dropout", "drop", b.input("x", (WIDTH,)), rate=RATE)
    logits = b.add("dense", "fc", x, units=2, bias=True)
    loss = b.add("softmax_cross_entropy", "loss", logits, b.input("labels", (), kind="index", high=2))
    return b.finish(outputs=(x,), loss=loss)


def prove(hooks: Hooks, request: BuildRequest) -> Check:
    """Train one step and compare the share of kept elements with 1 - rate; a kept one must be x / (1 - rate)."""
    graph = _graph()
    dtype = "float64" if request.precision == "fp64" else "float32"
    batch = data.batch(graph, BATCH, 0, dtype)
    session = hooks.build_model(graph, data.weights(graph, 0, "probe", dtype), request)
    try:
        hooks.train_step(session, hooks.stage_batch(session, batch))
        hooks.sync_device(session)
        dropped = np.asarray(hooks.read_results(session)["outputs"]["drop"], "float64")
    finally:
        hooks.close_model(session)
    kept = dropped != 0
    what = request.precision + " dropout rate"
    if dropped.shape != batch["x"].shape or not np.allclose(dropped[kept], batch["x"][kept] / (1 - RATE), rtol=1e-5):
        return Check(what, float("inf"), LIMIT, "drop")
    return Check(what, abs(float(kept.mean()) - (1 - RATE)), LIMIT, "drop")
