"""The hooks for PaddlePaddle. The graph becomes one layer that runs the framework's own layers, channels first."""

import ctypes
from operator import attrgetter
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

import numpy as np
import paddle
from paddle import nn

from harness.core import BuildRequest, Graph, Node, Optimizer, Unsupported, hookimpl
from harness_paddlepaddle import lower

Arrays = Dict[str, np.ndarray]
DTYPES = {"fp64": "float64", "fp32": "float32", "tf32": "float32"}
VARIANTS = ("dygraph", "to_static")

# Names of a layer's tensors by the role of the neutral parameter.
TENSORS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "mean": "_mean", "var": "_variance", "table": "weight"}
TENSORS.update({role: role for role in ("query", "key", "vector", "scale", "value")})
for _suffix in ("", "_reverse"):
    TENSORS.update({role + _suffix: "lstm.%s_l0%s" % (role, _suffix) for role in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})


class Param(NamedTuple):
    """A tensor of the framework that holds a neutral parameter, transposed where the layer is dense: Paddle has (in, out)."""

    tensor: Any
    transposed: bool

    @classmethod
    def of(cls, layer: nn.Layer, role: str) -> "Param":
        return cls(attrgetter(TENSORS[role])(layer), role == "weight" and isinstance(layer, nn.Linear))

    def load(self, array: np.ndarray) -> None:
        self.tensor.set_value(np.ascontiguousarray(array.T) if self.transposed else array)

    def read(self) -> np.ndarray:
        array = self.tensor.numpy()
        return array.T if self.transposed else array


Params = Dict[str, Param]


class Lowered(nn.Layer):
    """The graph's layers in order, on numbered values: inputs first, then one a node.

    A step of ``plan`` is what to call, the numbers of its arguments and of its result, and those that nobody reads later:
    they are let go at once, since keeping them all costs a quarter of the speed of ResNet-50.
    """

    def __init__(self, graph: Graph, weights: Arrays) -> None:
        super().__init__()
        self.params: Params = {}
        self.owners: Dict[str, Any] = {}
        numbers = {name: number for number, name in enumerate(graph.shapes)}
        self.results = tuple(numbers[name] for name in graph.outputs + ((graph.loss,) if graph.loss else ()))
        last_read = {numbers[name]: node.name for node in graph.nodes for name in node.inputs}
        plan = []
        for node in graph.nodes:
            dead = tuple(n for n, reader in last_read.items() if reader == node.name and n not in self.results)
            arguments = tuple(numbers[name] for name in node.inputs)
            plan.append((self._lower(node, weights), arguments, numbers[node.name], dead))
        self.plan = tuple(plan)
        self.unset = (None,) * len(graph.nodes)

    def _lower(self, node: Node, weights: Arrays) -> Any:
        """Return what runs the node. One tied to another gets that one's layer: one tensor, one gradient, one update."""
        if not node.params:
            return self._made(node, weights)
        what = repr((node.op, sorted(node.attrs.items()), sorted(node.params.items())))
        if what not in self.owners:
            if not self.params.keys().isdisjoint(node.params.values()):
                raise Unsupported(node.op, "parameters shared by nodes that differ in more than their inputs are not lowered")
            self.owners[what] = self._made(node, weights)
            self.params.update((name, Param.of(self.owners[what], role)) for role, name in node.params.items())
        return self.owners[what]

    def _made(self, node: Node, weights: Arrays) -> Any:
        function = getattr(lower, node.op, None)
        if function is None:
            raise Unsupported(node.op, "the PaddlePaddle adapter has no lowering for it")
        lowered = function(node, {role: weights[name] for role, name in node.params.items()})
        if isinstance(lowered, nn.Layer):
            self.add_sublayer(node.name.replace(".", "_"), lowered)
        return lowered

    def forward(self, inputs: List[Any]) -> Tuple[Any, ...]:  # to_static takes no *inputs and wants "self" as first name
        values = list(inputs) + list(self.unset)
        for function, arguments, result, dead in self.plan:
            values[result] = function(*[values[number] for number in arguments])
            for number in dead:
                values[number] = None
        return tuple([values[number] for number in self.results])


class Session:
    """A layer, its optimiser where it trains, and what the last step returned."""

    def __init__(self, layer: nn.Layer, params: Params, outputs: Tuple[str, ...], request: BuildRequest) -> None:
        self.layer = layer
        self.params = params
        self.outputs = outputs
        self.device = request.device
        self.dtype = DTYPES[request.precision]
        self.run: Any = layer
        self.optimizer: Any = None
        self.trained: List[Any] = []
        self.bounds: Optional[Tuple[float, float]] = None
        self.result: Any = None
        self.batch = 0


def place_of(device: str) -> str:
    """Return Paddle's name of the device."""
    return "cpu" if device == "cpu" else "gpu:%d" % gpu_number(device)


def gpu_number(device: str) -> int:
    """Return which GPU "cuda" and "cuda:N" mean."""
    return int(device.partition(":")[2] or 0)


def can_reset_peak() -> bool:
    """Whether Paddle's count of memory can begin anew: 2.6 cannot, and would tell the proofs' peak."""
    return hasattr(paddle.device.cuda, "reset_max_memory_allocated")


def threads_in_effect() -> Set[int]:
    """Return what OpenMP and MKL say: one number where they agree. Paddle's own flag stays at what it was started with."""
    folder = Path(paddle.__file__).parent / "libs"
    try:  # loading again finds the very libraries that Paddle has loaded
        openmp, mkl = (ctypes.CDLL(str(folder / name)) for name in ("libiomp5.so", "libmklml_intel.so"))
    except OSError:
        raise Unsupported("threads", "this build of Paddle comes without MKL, and its thread count cannot be read")
    return {openmp.omp_get_max_threads(), mkl.MKL_Get_Max_Threads()}


def configure(request: BuildRequest) -> None:
    """Set what Paddle keeps for the whole process. Must come before any layer is made."""
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the PaddlePaddle adapter runs %s, not %s" % (", ".join(DTYPES), request.precision))
    if request.variant not in VARIANTS:
        raise Unsupported("variant", "PaddlePaddle has dygraph and to_static, not '%s'" % request.variant)
    if request.device != "cpu" and gpu_number(request.device) >= paddle.device.cuda.device_count():
        raise Unsupported("device", "Paddle sees no %s" % request.device)
    paddle.set_device(place_of(request.device))
    paddle.set_default_dtype(DTYPES[request.precision])
    paddle.base.core.set_num_threads(request.threads)  # 1 unless set, whatever the machine has
    for set_tf32 in (paddle.base.core.set_cublas_switch, paddle.base.core.set_cudnn_switch):
        set_tf32(request.precision == "tf32")
    if request.device != "cpu" and can_reset_peak():
        paddle.device.cuda.reset_max_memory_allocated(gpu_number(request.device))  # the peak of this session alone


def optimizer_of(wanted: Optimizer, parameters: List[Any]) -> Any:
    """Return Paddle's optimiser. Adam's epsilon and the clipping are what the harness asks for, with float64 hyperparameters."""
    clip = nn.ClipGradByGlobalNorm(wanted.clip_norm) if wanted.clip_norm else None
    if wanted.name == "sgd":
        return paddle.optimizer.Momentum(wanted.lr, wanted.momentum, parameters, grad_clip=clip)
    if wanted.name == "adam":
        # One operator for all parameters. The one for a single parameter leaves the upper halves of AVX registers in use in
        # each thread that it ran on, where MKL's SSE code, its only code on AMD processors, is then four times slower.
        merged = paddle.get_default_dtype() == "float32"  # it has no float64
        numbers = (wanted.lr, wanted.beta1, wanted.beta2, wanted.epsilon)
        return paddle.optimizer.Adam(*numbers, parameters, grad_clip=clip, use_multi_tensor=merged)
    raise Unsupported("optimizer", "the PaddlePaddle adapter has sgd and adam, not '%s'" % wanted.name)


def prepare(layer: nn.Layer, params: Params, graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    """Load the weights and give ``layer`` the execution asked for. Serves lowered and native models."""
    for name, param in params.items():
        param.load(weights[name])
    session = Session(layer, params, graph.outputs, request)
    if request.mode == "train":
        layer.train()
        for name, param in params.items():
            if not graph.params[name].trainable:
                param.tensor.stop_gradient = True
        session.trained = [tensor for tensor in layer.parameters() if not tensor.stop_gradient]
        session.optimizer = optimizer_of(request.optimizer, session.trained)
        session.bounds = request.optimizer.bounds
    else:
        layer.eval()
        for tensor in layer.parameters():
            tensor.stop_gradient = True
    if request.variant == "to_static":
        session.run = paddle.jit.to_static(layer, full_graph=True)  # the whole graph or an error, never a part
    return session


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    configure(request)
    layer = Lowered(graph, weights)
    return prepare(layer, layer.params, graph, weights, request)


@hookimpl
def stage_batch(session: Session, arrays: Arrays) -> List[Any]:
    staged = []
    for array in arrays.values():
        dtype = session.dtype if array.dtype.kind == "f" else "int64"  # what cross-entropy wants
        staged.append(paddle.to_tensor(array, dtype=dtype, place=place_of(session.device)))
    session.batch = len(staged[0])
    return staged


@hookimpl
def train_step(session: Session, batch: List[Any]) -> None:
    session.result = session.run(batch)
    session.result[-1].backward()
    session.optimizer.step()
    if session.bounds:
        with paddle.no_grad():
            for tensor in session.trained:
                tensor.clip_(*session.bounds)
    session.optimizer.clear_grad(set_to_zero=False)  # drops gradients; zeros would be written and then added to


@hookimpl
def infer_step(session: Session, batch: List[Any]) -> None:
    with paddle.no_grad():
        session.result = session.run(batch)


@hookimpl
def sync_device(session: Session) -> None:
    if session.device != "cpu":
        paddle.device.synchronize(place_of(session.device))


@hookimpl
def read_results(session: Session) -> Dict[str, Any]:
    arrays = [tensor.numpy() for tensor in session.result]
    loss = None if session.optimizer is None else float(arrays[-1])
    return {"outputs": dict(zip(session.outputs, arrays)), "loss": loss}


@hookimpl
def read_weights(session: Session) -> Arrays:
    return {name: param.read() for name, param in session.params.items()}


def device_of(tensor: Any, asked: str) -> str:
    """Return where ``tensor`` is, with a number where one was asked for."""
    if not tensor.place.is_gpu_place():
        return "cpu"
    return "cuda:%d" % tensor.place.gpu_device_id() if ":" in asked else "cuda"


def onednn_in_effect() -> bool:
    name = "FLAGS_use_onednn" if paddle.__version__ >= "3" else "FLAGS_use_mkldnn"  # renamed
    return bool(paddle.get_flags(name)[name])


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    tensor = next(iter(session.params.values())).tensor
    precisions = {getattr(paddle, dtype): name for name, dtype in DTYPES.items() if name != "tf32"}
    precision = precisions[tensor.dtype]
    static = isinstance(session.run.forward, paddle.jit.dy2static.program_translator.StaticFunction)
    core = paddle.base.core
    tf32 = tensor.place.is_gpu_place() and (core.get_cublas_switch() or core.get_cudnn_switch())
    embeddings = [layer for layer in session.layer.sublayers() if isinstance(layer, nn.Embedding)]
    settings = {
        "framework": "PaddlePaddle",
        "version": paddle.__version__,
        "device": device_of(tensor, session.device),
        "precision": "tf32" if precision == "fp32" and tf32 else precision,
        "batch": session.batch,
        "threads": max(threads_in_effect()),
        "layout": "channels first",
        "execution": "to_static" if static else "dygraph",
        "tf32": tf32,
        "onednn": onednn_in_effect(),
        "library": "cuDNN %s" % paddle.version.cudnn() if tensor.place.is_gpu_place() else "MKL",
        "async_steps": tensor.place.is_gpu_place(),
        "running_var": "biased",
    }
    if tensor.place.is_gpu_place():  # builds for CPUs lack these flags
        flags = paddle.get_flags(["FLAGS_cudnn_exhaustive_search", "FLAGS_cudnn_deterministic"])
        settings["autotune"], settings["deterministic"] = flags.values()
    if static:
        settings["compilations"] = len(session.run.forward.program_cache)
    if embeddings:
        settings["embedding_gradient"] = "sparse" if any(layer._sparse for layer in embeddings) else "dense"
    return settings


@hookimpl
def peak_memory(session: Session) -> Optional[int]:
    if session.device == "cpu" or not can_reset_peak():
        return None
    return int(paddle.device.cuda.max_memory_allocated(gpu_number(session.device)))


@hookimpl
def close_model(session: Session) -> None:
    session.__dict__.clear()
