"""The contract between the harness and an adapter. The docstrings are its specification.

An adapter is a module (or object) whose functions carry :data:`hookimpl`. Every hook has exactly one implementation
per worker, since a worker runs one adapter. pluggy finds and checks the hooks; the timed loop then calls the bound
functions directly, because a hook call costs microseconds and a direct call a tenth of one.
"""

from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np
import pluggy

from harness.core.graph import Graph

PROJECT = "harness"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Arrays = Dict[str, np.ndarray]


class Optimizer(NamedTuple):
    """How weights w follow from gradients g; ``optimizers.py`` has both rules in numpy.

    "sgd": ``v = momentum * v + g; w = w - lr * v``, with v = 0 at the start.
    "adam" (Kingma and Ba, arXiv 1412.6980), in step t = 1, 2, ...: ``m = beta1 * m + (1 - beta1) * g``,
    ``v = beta2 * v + (1 - beta2) * g * g``, ``w = w - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)``.
    The epsilon stands outside the corrected root; a framework that puts it elsewhere must be given another one each step.
    ``clip_norm``, where it is not 0: if the norm of all gradients as one vector exceeds it, they are scaled down to it first.
    ``bounds``, where given: after the step every trained weight is moved to the nearest value between them.
    """

    name: str = "sgd"
    lr: float = 0.01
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip_norm: float = 0.0
    bounds: Optional[Tuple[float, float]] = None


class BuildRequest(NamedTuple):
    """What a session is asked to be. An adapter that cannot do exactly this raises ``Unsupported``; it never adapts it."""

    mode: str  # "train" or "infer"
    device: str  # "cpu", "cuda" or "cuda:N"
    # "fp64" (parity only), "fp32" with IEEE arithmetic (TF32 off), "tf32" (float32 whose products are rounded to TF32), or
    # "fp16", "bf16": weights, inputs and what flows between ops in that format, in inference.
    precision: str
    variant: str  # one of the manifest's execution variants
    batch: int  # samples a step
    threads: int  # CPU threads granted to one step; the affinity mask of the process is set to match
    optimizer: Optimizer
    # "as-shipped": what the framework recommends. "matched": nothing that changes the work by more than the graph says, so
    # no folding of normalisation into convolutions, no fusing of ops into others, no constant weights.
    track: str = "as-shipped"


@hookspec(firstresult=True)
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Any:
    """Lower ``graph`` once into the framework's own modules, layout and compiler, and return a session.

    Called: once per session, before any other hook of that session.
    Gets: the neutral graph; ``weights`` by parameter name in neutral layout (convolution OIHW, dense (out, in), LSTM gates
    in the order input, forget, cell, output); what is asked for. Nodes may share parameters (``Node.params`` then names
    another node's), which must stay one tensor. In ``infer`` mode the graph holds only what the outputs need, and no
    gradient may be recorded.
    Must: set the framework's thread count to ``request.threads``, copy the weights, leave nothing neutral in the step.
    Must not: keep a reference to ``weights``, change batch, precision or device.
    Raises: ``Unsupported`` for an op or setting that the framework lacks.
    Returns: any object; it is handed back to the other hooks.
    """


@hookspec(firstresult=True)
def stage_batch(session: Any, arrays: Arrays) -> Any:
    """Put one batch where a step wants it: on the device, in the session's layout and precision.

    Called: outside the timed window.
    Gets: arrays by input name, the batch as first axis; images NCHW, sequences (batch, steps), whole numbers as int32.
    Returns: any object; it is handed to the steps.
    """


@hookspec(firstresult=True)
def train_step(session: Any, batch: Any) -> None:
    """Queue one training step: forward, loss, backward, optimiser update.

    Called: back to back inside a timed block. May return before the device has finished.
    Must not: copy results to the host, print, draw new data.
    Checked by: conformance/parity.py (outputs, loss and updated weights of the step).
    """


@hookspec(firstresult=True)
def infer_step(session: Any, batch: Any) -> None:
    """Queue one forward pass, batch normalisation in inference mode and no gradients recorded.

    Called: back to back inside a timed block. May return before the device has finished.
    Must not: copy results to the host, print, draw new data.
    Checked by: conformance/parity.py (outputs).
    """


@hookspec(firstresult=True)
def sync_device(session: Any) -> None:
    """Block until every step queued on ``session`` has finished on the device.

    Called: right before each clock read, never between two steps of one timed block.
    Must: wait for the device. Must not: copy results to the host, allocate, print.
    """


@hookspec(firstresult=True)
def read_results(session: Any) -> Dict[str, Any]:
    """Read what the last step left, after a sync and outside the timed window.

    Called: by the sync proof as well, which takes its time: it must read the last step's results and do nothing else.
    Returns: ``{"outputs": {output name: array}, "loss": float or None}`` in neutral layout, at the session's precision.
    ``loss`` is None in infer mode.
    """


@hookspec(firstresult=True)
def read_weights(session: Any) -> Arrays:
    """Read every parameter of the graph by name, running statistics included, as the last step left them.

    Called: in train mode, after a sync and outside the timed window. Returns: arrays in neutral layout, at the session's
    precision.
    """


@hookspec(firstresult=True)
def describe(session: Any) -> Dict[str, Any]:
    """Report settings in effect, read back from the framework rather than repeated from the request.

    Returns: a flat dict of JSON values with at least ``framework``, ``version``, ``device``, ``precision``, ``batch``,
    ``threads``, ``layout``, ``execution`` (variant in effect) and ``async_steps`` (True where a step may return early).
    ``running_var`` is "biased" where batch normalisation stores the variance over N instead of N-1.
    """


@hookspec(firstresult=True)
def peak_memory(session: Any) -> Optional[int]:
    """Report the most bytes that the framework's own allocator had handed out on the device at once, since ``build_model``.

    Called: after the timed blocks, outside the timed window. Returns: None where the framework does not count, and on a CPU.
    An adapter may leave this hook out.
    """


@hookspec(firstresult=True)
def close_model(session: Any) -> None:
    """Let go of the session's memory. Called once, last."""


REQUIRED_HOOKS = (
    "build_model",
    "stage_batch",
    "train_step",
    "infer_step",
    "sync_device",
    "read_results",
    "read_weights",
    "describe",
    "close_model",
)
OPTIONAL_HOOKS = ("peak_memory",)
