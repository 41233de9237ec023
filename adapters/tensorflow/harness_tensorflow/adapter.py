"""The hooks for TensorFlow. The graph becomes raw ops in one tf.function a step, NHWC inside."""

import gc
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.util import _pywrap_util_port

from harness.core import BuildRequest, Graph, Optimizer, TensorSpec, Unsupported, hookimpl
from harness_tensorflow import layout, lower, optimizers

Arrays = Dict[str, np.ndarray]
Step = Callable[..., Tuple[tf.Tensor, ...]]
Weights = Dict[str, layout.Weight]

DTYPES = {"fp64": tf.float64, "fp32": tf.float32, "tf32": tf.float32}
VARIANTS = ("function", "xla")


class Session:
    """A step that is one framework function, the variables behind it, and what its last call returned."""

    def __init__(self, graph: Graph, weights: Weights, request: BuildRequest, running_var: str) -> None:
        self.graph = graph
        self.weights = weights
        self.request = request
        self.running_var = running_var
        self.device = device_name(request.device)
        self.frozen: Any = None
        self.function: Any = None  # holds the variables, which a traced function does not
        self.run: Any = None
        self.result: Any = None
        self.batch = 0


def device_name(device: str) -> str:
    """Return TensorFlow's name of "cpu", "cuda" or "cuda:N"."""
    return "/CPU:0" if device == "cpu" else "/GPU:%d" % int(device.partition(":")[2] or 0)


def configure(request: BuildRequest) -> None:
    """Apply the settings of the whole process, most of which must precede TensorFlow's first op."""
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the TensorFlow adapter runs %s, not %s" % (", ".join(DTYPES), request.precision))
    if request.variant not in VARIANTS:
        raise Unsupported("variant", "TensorFlow has function and xla, not '%s'" % request.variant)
    devices = tf.config.list_physical_devices()
    if not any(device.name.endswith(device_name(request.device)[1:]) for device in devices):
        raise Unsupported("device", "TensorFlow sees no %s" % request.device)
    try:
        tf.config.threading.set_intra_op_parallelism_threads(request.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        for device in devices:
            if device.device_type == "GPU":
                tf.config.experimental.set_memory_growth(device, True)
    except RuntimeError:
        raise Unsupported("threads", "TensorFlow cannot change its thread count once it has run")
    tf.config.experimental.enable_tensor_float_32_execution(request.precision == "tf32")
    if request.device != "cpu":
        tf.config.experimental.reset_memory_stats(device_name(request.device)[1:])  # the peak of this session alone


def lower_graph(graph: Graph, weights: Arrays, request: BuildRequest) -> Tuple[Step, Weights]:
    """Return the forward pass, from inputs to outputs and loss, and its variables by neutral parameter name."""
    shapes, flattened = graph.shapes, flattened_maps(graph)
    calls: List[Tuple[str, Callable[..., Any], Tuple[str, ...]]] = []
    variables: Weights = {}
    for node in graph.nodes:
        function = getattr(lower, node.op, None)
        if function is None:
            raise Unsupported(node.op, "the TensorFlow adapter has no lowering for it")
        params = {role: weights[name] for role, name in node.params.items()}
        shape = next((flattened.get(name, shapes[name]) for name in node.inputs), node.shape)
        lowered = function(node, params, lower.Site(shape, request, variables))
        variables.update((node.params[role], weight) for role, weight in lowered.weights.items())
        calls.append((node.name, lowered.call, node.inputs))
    names = graph.outputs + ((graph.loss,) if graph.loss else ())
    inputs = tuple(spec.name for spec in graph.inputs)

    def forward(*tensors: tf.Tensor) -> Tuple[tf.Tensor, ...]:
        values = dict(zip(inputs, tensors))
        for name, call, arguments in calls:
            values[name] = call(*(values[argument] for argument in arguments))
        return tuple(values[name] for name in names)

    return forward, variables


def flattened_maps(graph: Graph) -> Dict[str, Tuple[int, ...]]:
    """Return, by name, the tensors that are flattened maps in NHWC order, with the neutral shape of each map."""
    shapes = graph.shapes
    flattened: Dict[str, Tuple[int, ...]] = {}
    for node in graph.nodes:
        first = next(iter(node.inputs), "")
        if node.op == "flatten" and len(shapes[first]) == 3:
            flattened[node.name] = shapes[first]
        elif first in flattened and node.op in ("dropout", "relu"):
            flattened[node.name] = flattened[first]
        elif node.op != "dense" and any(name in flattened for name in node.inputs):
            raise Unsupported(node.op, "behind a flatten, TensorFlow's element order allows dense, dropout and relu only")
    return flattened


def training(forward: Step, graph: Graph, weights: Weights, optimizer: Optimizer) -> Step:
    """Return the training step around ``forward``, whose last result is the loss."""
    variables = [weight.variable for name, weight in weights.items() if graph.params[name].trainable]
    update = optimizers.make(optimizer, variables)

    def step(*tensors: tf.Tensor) -> Tuple[tf.Tensor, ...]:
        with tf.GradientTape() as tape:
            results = forward(*tensors)
        update(tape.gradient(results[-1], variables))
        return results

    return step


def prepare(step: Step, graph: Graph, weights: Weights, request: BuildRequest, running_var: str = "unbiased") -> Session:
    """Trace ``step`` into one function of the variant asked for. Serves lowered and native models."""
    types = [signature(spec, request) for spec in graph.inputs]
    session = Session(graph, weights, request, running_var)
    with tf.device(session.device):
        if freezes(graph, request):
            session.frozen = convert_variables_to_constants_v2(tf.function(step, types, autograph=False).get_concrete_function())
            step = session.frozen
        session.function = tf.function(lambda *tensors: step(*tensors), types, autograph=False, jit_compile=request.variant == "xla")
        session.run = session.function.get_concrete_function()
    return session


def freezes(graph: Graph, request: BuildRequest) -> bool:
    """Whether weights become constants, which lets TensorFlow fold batch normalisation into convolutions.

    Other weights gain nothing and, where most are of them, pay with minutes and many gigabytes of folding. Float64 is never
    timed and would pay in memory.
    """
    if request.mode == "train" or request.precision == "fp64" or request.track == "matched":
        return False
    convolutions = [graph.params[name].size for node in graph.nodes if node.op == "conv2d" for name in node.params.values()]
    return sum(convolutions) > 0.5 * graph.parameter_count()


def signature(spec: TensorSpec, request: BuildRequest) -> tf.TensorSpec:
    """Return the type of a staged input: images NHWC, whole numbers int64, because int32 tensors stay in host memory on GPUs."""
    shape = (request.batch,) + spec.shape
    if len(shape) == 4:
        shape = layout.map_layout(shape).shape
    return tf.TensorSpec(shape, DTYPES[request.precision] if spec.kind == "float" else tf.int64, spec.name)


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    configure(request)
    with tf.device(device_name(request.device)):
        step, variables = lower_graph(graph, weights, request)
        if request.mode == "train":
            step = training(step, graph, variables, request.optimizer)
    return prepare(step, graph, variables, request)


@hookimpl
def stage_batch(session: Session, arrays: Arrays) -> List[tf.Tensor]:
    staged = []
    for spec in session.graph.inputs:
        array = arrays[spec.name]
        wanted = signature(spec, session.request)
        if array.ndim == 4:
            array = layout.map_layout(array.shape).inward(array)
        with tf.device(session.device):
            staged.append(tf.constant(array, wanted.dtype))
    session.batch = int(staged[0].shape[0])
    return staged


@hookimpl
def train_step(session: Session, batch: List[tf.Tensor]) -> None:
    session.result = session.run(*batch)


@hookimpl
def infer_step(session: Session, batch: List[tf.Tensor]) -> None:
    session.result = session.run(*batch)


@hookimpl
def sync_device(session: Session) -> None:
    if session.request.device != "cpu":
        tf.test.experimental.sync_devices()


@hookimpl
def read_results(session: Session) -> Dict[str, Any]:
    arrays = [tensor.numpy() for tensor in session.result]
    outputs = {name: neutral_output(session.graph, name, array) for name, array in zip(session.graph.outputs, arrays)}
    return {"outputs": outputs, "loss": float(arrays[-1]) if session.request.mode == "train" else None}


@hookimpl
def read_weights(session: Session) -> Arrays:
    return {name: weight.layout.outward(weight.variable.numpy()) for name, weight in session.weights.items()}


def neutral_output(graph: Graph, name: str, array: np.ndarray) -> np.ndarray:
    """Return an output as the graph defines it: maps NCHW, a flattened map with its channels slowest."""
    flattened = flattened_maps(graph)
    if name in flattened:
        return layout.flat_layout(len(array), flattened[name]).outward(array)
    if array.ndim == 4:
        return layout.map_layout((len(array),) + graph.shapes[name]).outward(array)
    return array


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    variable = next(iter(session.weights.values())).variable
    precisions = {dtype: name for name, dtype in DTYPES.items() if name != "tf32"}
    precision = precisions[variable.dtype]
    tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    on_cpu = session.request.device == "cpu"
    embeds = any(node.op == "embedding" for node in session.graph.nodes)
    ledger = {
        "framework": "TensorFlow",
        "version": tf.__version__,
        "device": neutral_device(variable.device, session.request.device),
        "precision": "tf32" if precision == "fp32" and tf32 else precision,
        "batch": session.batch,
        "threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "interop_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "layout": "NHWC",
        "execution": execution(session),
        "compilations": session.function.experimental_get_tracing_count(),
        "deterministic": is_op_determinism_enabled(),
        "fp32_arithmetic": "ieee" if os.environ["ONEDNN_DEFAULT_FPMATH_MODE"] == "STRICT" else "reduced",
        "tf32": tf32,
        "library": "oneDNN" if on_cpu and _pywrap_util_port.IsMklEnabled() else "Eigen" if on_cpu else "cuDNN",
        "async_steps": not on_cpu,
        "running_var": session.running_var,
    }
    return dict(ledger, embedding_gradient="dense") if embeds else ledger


def execution(session: Session) -> str:
    compiled = "XLA" if session.run.function_def.attr["_XlaMustCompile"].b else "tf.function"
    return compiled if session.frozen is None else compiled + ", weights frozen"


def neutral_device(placed: str, asked: str) -> str:
    """Return the contract's name of the device that TensorFlow reports, without a number where none was asked for."""
    kind, number = placed.split(":")[-2:]
    if kind == "CPU":
        return "cpu"
    return "cuda" if (asked, number) == ("cuda", "0") else "cuda:" + number


@hookimpl
def peak_memory(session: Session) -> Optional[int]:
    if session.request.device == "cpu":
        return None
    return int(tf.config.experimental.get_memory_info(session.device[1:])["peak"])


@hookimpl
def close_model(session: Session) -> None:
    session.__dict__.clear()
    gc.collect()  # traced functions are cycles that hold their constants
