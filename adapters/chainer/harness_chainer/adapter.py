"""The hooks for Chainer. The graph becomes a ChainList of links and the order in which they and the functions are called."""

import ctypes
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import chainer
import numpy as np
from chainer.backends import cuda, intel64

from harness.core import BuildRequest, Graph, Unsupported, hookimpl
from harness_chainer import lower, optimizer, sequence

Arrays = Dict[str, np.ndarray]
Tensors = Dict[str, Tuple[Any, str]]  # link and attribute by neutral name: moving a model replaces the arrays
DTYPES = {"fp64": np.float64, "fp32": np.float32, "tf32": np.float32}
DEVICES = {"numpy": "@numpy", "ideep": "@intel64"}  # Chainer's names of the CPU, by variant

# Names of a link's tensors by the role of the neutral parameter, where they differ.
TENSORS = {"weight": "W", "bias": "b", "mean": "avg_mean", "var": "avg_var", "table": "W"}


class Lowered(chainer.ChainList):
    """A graph as calls in order: what is called, where its arguments lie, and which values nobody reads afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: List[Tuple[Callable[..., Any], List[int], List[int]]] = []
        self.results: List[int] = []

    def forward(self, *inputs: Any) -> Tuple[Any, ...]:
        values = list(inputs)
        for function, arguments, dead in self.calls:
            values.append(function(*[values[place] for place in arguments]))
            for place in dead:  # a variable keeps its array, whether or not the backward pass wants it
                values[place] = None
        return tuple([values[place] for place in self.results])


class Session:
    """A model, its optimizer where it trains, and the arrays that the last step returned."""

    def __init__(self, model: chainer.Link, tensors: Tensors, outputs: Tuple[str, ...], request: BuildRequest) -> None:
        self.model = model
        self.tensors = tensors
        self.outputs = outputs
        self.device = request.device
        self.dtype = DTYPES[request.precision]
        self.optimizer: Any = None
        self.bounds: Optional[Tuple[float, float]] = None
        self.result: List[Any] = []
        self.batch = 0


class Blas:
    """The OpenBLAS that numpy is linked to, whose functions are renamed in some builds."""

    def __init__(self) -> None:
        library = ctypes.CDLL(np.core._multiarray_umath.__file__)  # finds symbols in what it is linked to, too
        for pattern in ("openblas_%s64_", "openblas_%s", "scipy_openblas_%s64_"):
            if hasattr(library, pattern % "get_num_threads"):
                self._library, self._pattern = library, pattern
                return
        raise Unsupported("threads", "this numpy is not linked to OpenBLAS, so its number of threads is not known")

    def _text(self, function: str) -> str:
        found = getattr(self._library, self._pattern % function)
        found.restype = ctypes.c_char_p
        return str(found().decode())

    def threads(self) -> int:
        return int(getattr(self._library, self._pattern % "get_num_threads")())

    def name(self) -> str:
        """Return version and kernels, such as "OpenBLAS 0.3.20 Haswell"."""
        return "%s %s" % (" ".join(self._text("get_config").split()[:2]), self._text("get_corename"))


def threads_in_effect() -> List[int]:
    """Return the thread counts that steps run with: OpenBLAS has its own, iDeep that of OpenMP."""
    counts = {Blas().threads()}
    if intel64.is_ideep_available():
        counts.add(ctypes.CDLL(intel64.ideep._ideep4py.__file__).omp_get_max_threads())
    return sorted(counts)


def check_threads(threads: int) -> None:
    found = threads_in_effect()
    if found != [threads]:
        counts = " and ".join(str(count) for count in found)
        variables = "OPENBLAS_NUM_THREADS and OMP_NUM_THREADS"
        raise Unsupported("threads", "numpy was loaded with %s, not %d; %s must be set before" % (counts, threads, variables))


def lower_graph(graph: Graph, weights: Arrays) -> Tuple[Lowered, Tensors]:
    """Return the model and its tensors by neutral name."""
    model, tensors = Lowered(), {}
    readers = graph.consumers()
    if graph.loss:
        readers[graph.loss] += 1
    places = {spec.name: place for place, spec in enumerate(graph.inputs)}
    for node in graph.nodes:
        function = getattr(lower, node.op, None)
        if function is None:
            raise Unsupported(node.op, "the Chainer adapter has no lowering for it")
        tied = [tensors[name][0] for name in node.params.values() if name in tensors]
        if tied:
            lowered = tied[0]  # the link itself: a parameter in two links would be clipped and updated twice
        else:
            lowered = function(node, {role: weights[name] for role, name in node.params.items()})
            tensors.update((name, (lowered, TENSORS.get(role, role))) for role, name in node.params.items())
            if isinstance(lowered, chainer.Link):
                model.append(lowered)
        for name in node.inputs:
            readers[name] -= 1
        dead = sorted({places[name] for name in node.inputs if not readers[name]})
        model.calls.append((lowered, [places[name] for name in node.inputs], dead))
        places[node.name] = len(places)
    model.results = [places[name] for name in graph.outputs + ((graph.loss,) if graph.loss else ())]
    return model, tensors


def check(request: BuildRequest) -> None:
    """Refuse what Chainer, or this installation of it, cannot do."""
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the Chainer adapter runs %s, not %s" % (", ".join(DTYPES), request.precision))
    if request.variant not in DEVICES:
        raise Unsupported("variant", "Chainer has numpy and ideep, not '%s'" % request.variant)
    if request.variant == "ideep" and not intel64.is_ideep_available():
        raise Unsupported("ideep", "ideep4py cannot be imported; it was built for Python 3.6 and 3.7 only")
    check_threads(request.threads)
    if request.device != "cpu":
        use_gpu(request)


def gpu_number(device: str) -> int:
    """Return which GPU "cuda" and "cuda:N" mean."""
    return int(device.partition(":")[2] or 0)


def gpu_count() -> int:
    """Return how many GPUs CuPy sees: none where it, its libraries or a driver for them is missing."""
    try:
        return int(cuda.cupy.cuda.runtime.getDeviceCount()) if cuda.available else 0
    except RuntimeError:
        return 0


def use_gpu(request: BuildRequest) -> None:
    """Make the GPU the one that arrays are made on, with the arithmetic asked for; refuse what is not there."""
    if request.variant != "numpy":
        raise Unsupported("variant", "on GPUs Chainer has the arrays of CuPy, not '%s'" % request.variant)
    if gpu_number(request.device) >= gpu_count():
        raise Unsupported("device", "CuPy sees no %s" % request.device)
    if request.precision in ("fp32", "tf32") and (request.precision == "tf32") != libraries_may_round():
        raise Unsupported("precision", "cuDNN was loaded for the other one of fp32 and tf32; NVIDIA_TF32_OVERRIDE must be set before")
    cuda.cupy.cuda.Device(gpu_number(request.device)).use()
    linalg = products()
    rounding = linalg.COMPUTE_TYPE_TF32 if request.precision == "tf32" else linalg.COMPUTE_TYPE_DEFAULT
    linalg.set_compute_type(np.dtype(np.float32), rounding)


def libraries_may_round() -> bool:
    """Whether cuDNN, which reads the variable when it is loaded, may round float32 products to TF32. It has no switch in Chainer."""
    return os.environ.get("NVIDIA_TF32_OVERRIDE") != "0"


def products() -> Any:
    """Return what has CuPy's switch for products of matrices."""
    from cupy._core import _routines_linalg

    return _routines_linalg


def tf32_in_effect() -> bool:
    linalg = products()
    return bool(libraries_may_round() and linalg.get_compute_type(np.dtype(np.float32)) == linalg.COMPUTE_TYPE_TF32)


def prepare(model: chainer.Link, tensors: Tensors, graph: Graph, request: BuildRequest) -> Session:
    """Put ``model`` on the device of the variant and give it an optimizer. Serves lowered and native models."""
    normalises = any(node.op == "batch_norm" for node in graph.nodes)
    if request.variant == "ideep" and request.mode == "train" and request.threads > 1 and normalises:
        raise Unsupported("ideep", "on several threads, iDeep's batch normalisation gives wrong gradients for some shapes")
    chainer.global_config.use_ideep = "auto" if request.variant == "ideep" else "never"
    model.to_device(DEVICES[request.variant] if request.device == "cpu" else "@cupy:%d" % gpu_number(request.device))
    session = Session(model, tensors, graph.outputs, request)
    if request.mode == "train":
        freeze(tensors, graph)
        session.optimizer = optimizer.make(request.optimizer, model)
        session.bounds = request.optimizer.bounds
    return session


def freeze(tensors: Tensors, graph: Graph) -> None:
    """Make what is not trained a variable without a gradient: a parameter that is merely not updated would get one all the same."""
    for name, (link, attribute) in tensors.items():
        parameter = getattr(link, attribute)
        if isinstance(parameter, chainer.Parameter) and not graph.params[name].trainable:
            delattr(link, attribute)
            setattr(link, attribute, chainer.Variable(parameter.array, requires_grad=False))


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    check(request)
    with chainer.using_config("dtype", DTYPES[request.precision]):
        model, tensors = lower_graph(graph, weights)
    return prepare(model, tensors, graph, request)


@hookimpl
def stage_batch(session: Session, arrays: Arrays) -> List[Any]:
    staged = []
    for array in arrays.values():
        dtype = session.dtype if array.dtype.kind == "f" else np.int32
        staged.append(session.model.device.send(np.array(array, dtype)))
    session.batch = len(staged[0])
    return staged


@hookimpl
def train_step(session: Session, batch: List[Any]) -> None:
    result = session.model(*batch)
    session.model.cleargrads()
    result[-1].backward()
    session.optimizer.update()
    if session.bounds:
        for parameter in session.model.params():
            parameter.device.xp.clip(parameter.array, *session.bounds, out=parameter.array)
    session.result = [variable.array for variable in result]  # a variable would keep all that the backward pass needed


@hookimpl
def infer_step(session: Session, batch: List[Any]) -> None:
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        session.result = [variable.array for variable in session.model(*batch)]


@hookimpl
def sync_device(session: Session) -> None:
    """On a CPU there is nothing to wait for: every call returns when its arrays are there."""
    if session.device != "cpu":
        session.model.device.device.synchronize()


@hookimpl
def read_results(session: Session) -> Dict[str, Any]:
    host = chainer.get_device("@numpy")
    arrays = [host.send(array) for array in session.result]
    loss = None if session.optimizer is None else float(arrays[-1])
    return {"outputs": dict(zip(session.outputs, arrays)), "loss": loss}


@hookimpl
def read_weights(session: Session) -> Arrays:
    host = chainer.get_device("@numpy")
    return {name: _neutral(link, host.send(_array(link, attribute))) for name, (link, attribute) in session.tensors.items()}


def _array(link: chainer.Link, attribute: str) -> Any:
    tensor = getattr(link, attribute)
    return tensor.array if isinstance(tensor, chainer.Variable) else tensor  # running statistics are plain arrays


def _neutral(link: chainer.Link, array: np.ndarray) -> np.ndarray:
    """Return a copy in neutral layout."""
    return sequence.by_gate(array) if isinstance(link, sequence.Recurrent) else array.copy()


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    precisions = {np.dtype(dtype): name for name, dtype in DTYPES.items() if name != "tf32"}
    dtype = next(session.model.params()).dtype
    on_cpu = session.model.device.name in DEVICES.values()
    tf32 = not on_cpu and tf32_in_effect()
    precision = precisions[dtype]
    ideep = session.model.device.name == DEVICES["ideep"] and chainer.global_config.use_ideep == "auto"
    ledger = {
        "framework": "Chainer",
        "version": chainer.__version__,
        "device": "cpu" if on_cpu else neutral_device(session),
        "precision": "tf32" if precision == "fp32" and tf32 else precision,
        "batch": session.batch,
        "threads": max(threads_in_effect()),
        "layout": "channels first",
        "execution": "define-by-run, %s" % ("iDeep" if ideep else "numpy" if on_cpu else "CuPy"),
        "numpy": np.__version__,
        "library": "iDeep" if ideep and dtype == np.float32 else Blas().name(),  # iDeep has no float64
        "async_steps": not on_cpu,
        "running_var": "unbiased",
    }
    if not on_cpu:
        ledger.update(autotune=bool(chainer.config.autotune), deterministic=bool(chainer.config.cudnn_deterministic))
        ledger.update(tf32=tf32, cupy=cuda.cupy.__version__, library=gpu_library())
    if any(isinstance(link, chainer.links.EmbedID) for link in session.model.links()):
        ledger["embedding_gradient"] = "dense"  # which is all that F.embed_id has
    return ledger


def neutral_device(session: Session) -> str:
    """Return where the model is, with a number where one was asked for."""
    number = session.model.device.device.id
    return "cuda:%d" % number if ":" in session.device or number else "cuda"


def gpu_library() -> str:
    """Return a name such as "cuDNN 8907". Without cuDNN Chainer convolves with products of matrices."""
    return "cuDNN %d" % cuda.cupy.cuda.cudnn.getVersion() if cuda.cudnn_enabled else "cuBLAS"


@hookimpl
def close_model(session: Session) -> None:
    session.__dict__.clear()
