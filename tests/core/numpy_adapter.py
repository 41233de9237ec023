"""An adapter for a framework that is always there: numpy, by way of the reference executor.

Honest by default. The tests make bad citizens of it by overriding one of its plain methods. It is a module like those of
the real adapters, so that a copy named ``<package>/adapter.py`` can be loaded by a worker.
"""

import contextlib

import numpy as np

from harness.core import Unsupported, hookimpl, reference
from harness.core.ops import OPS
from harness.core.ops.dropout import Dropout
from harness.core.optimizers import State

DTYPES = {"fp64": "float64", "fp32": "float32"}


class RandomDropout(Dropout):
    """Dropout that draws, which the reference leaves undefined."""

    def __init__(self):
        self.random = np.random.RandomState(0)

    def mask(self, shape, rate):
        return (self.random.random_sample(shape) >= rate) / (1 - rate)

    def forward(self, node, attrs, xs, params, run):
        if not run.train or attrs["rate"] == 0:
            return xs[0], 1
        mask = self.mask(xs[0].shape, attrs["rate"]).astype(xs[0].dtype)
        return xs[0] * mask, mask

    def backward(self, attrs, saved, grad):
        return [grad * saved], {}


class Session:
    """A model with its state; ``results`` is what the last step left."""

    def __init__(self, graph, weights, request):
        self.graph = graph
        self.weights = weights
        self.request = request
        self.state = State()
        self.batch = 0
        self.results = None


class NumpyAdapter:
    """The hooks, and the plain methods between them that a test may override."""

    running_var = "unbiased"

    def __init__(self):
        self.dropout = RandomDropout()

    def lower(self, graph):
        return graph

    def load(self, weights):
        return weights

    def step(self, session, batch):
        """Return the reference's account of one training step."""
        with self.own_dropout():
            optimizer, biased = session.request.optimizer, self.running_var == "biased"
            return reference.train_step(session.graph, session.weights, batch, optimizer, session.state, biased)

    @contextlib.contextmanager
    def own_dropout(self):
        """Lend the reference a dropout that draws, for one step."""
        before = OPS["dropout"]
        OPS["dropout"] = self.dropout
        try:
            yield
        finally:
            OPS["dropout"] = before

    @hookimpl
    def build_model(self, graph, weights, request):
        if request.device != "cpu":
            raise Unsupported("device", f"numpy has the cpu only, not '{request.device}'")
        if request.precision not in DTYPES:
            raise Unsupported("precision", f"the numpy adapter runs fp64 and fp32, not {request.precision}")
        if request.variant != "eager":
            raise Unsupported("variant", f"numpy has eager only, not '{request.variant}'")
        own = {name: np.array(array, dtype=DTYPES[request.precision]) for name, array in weights.items()}
        return Session(self.lower(graph), self.load(own), request)

    @hookimpl
    def stage_batch(self, session, arrays):
        dtype = DTYPES[session.request.precision]
        staged = {name: array.astype(dtype) if array.dtype.kind == "f" else array for name, array in arrays.items()}
        session.batch = len(next(iter(staged.values())))
        return staged

    @hookimpl
    def train_step(self, session, batch):
        after = self.step(session, batch)
        session.weights, session.state = after.weights, after.state
        session.results = {"outputs": after.outputs, "loss": after.loss}

    @hookimpl
    def infer_step(self, session, batch):
        outputs = reference.infer(session.graph, session.weights, batch)
        session.results = {"outputs": outputs, "loss": None}

    @hookimpl
    def sync_device(self, session):
        pass

    @hookimpl
    def read_results(self, session):
        return session.results

    @hookimpl
    def read_weights(self, session):
        return session.weights

    @hookimpl
    def describe(self, session):
        precisions = {dtype: name for name, dtype in DTYPES.items()}
        return {
            "framework": "numpy",
            "version": np.__version__,
            "device": "cpu",
            "precision": precisions[str(next(iter(session.weights.values())).dtype)],
            "batch": session.batch,
            "threads": session.request.threads,
            "layout": "channels first",
            "execution": "eager",
            "async_steps": False,
            "running_var": self.running_var,
        }

    @hookimpl
    def close_model(self, session):
        session.__dict__.clear()


# What pluggy finds in this module when a worker loads it.
_adapter = NumpyAdapter()
build_model = _adapter.build_model
stage_batch = _adapter.stage_batch
train_step = _adapter.train_step
infer_step = _adapter.infer_step
sync_device = _adapter.sync_device
read_results = _adapter.read_results
read_weights = _adapter.read_weights
describe = _adapter.describe
close_model = _adapter.close_model
