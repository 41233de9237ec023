"""The hooks for CNTK. The graph becomes one function, which a Trainer trains or a forward pass evaluates."""

import ctypes
import os
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

import cntk as C
import numpy as np
from cntk.logging.graph import depth_first_search

from harness.core import BuildRequest, Graph, Unsupported, hookimpl
from harness_cntk import lower, optimizer

Arrays = Dict[str, np.ndarray]
DTYPES = {"fp64": np.float64, "fp32": np.float32}
EXECUTIONS = {"graph": "static graph", "avx2": "static graph, AVX2 asked of MKL"}
MKL_KERNELS = {0: "generic x86-64", 5: "AVX2"}  # by MKL's own number of a kind of CPU


class Tensor(NamedTuple):
    """A parameter or constant of CNTK. ``turned`` where it holds the neutral matrix (out, in) as (in, ..., out)."""

    tensor: Any
    turned: bool = False

    def read(self) -> np.ndarray:
        value = self.tensor.value
        return value.reshape(-1, value.shape[-1]).T if self.turned else value

    def write(self, array: np.ndarray) -> None:
        self.tensor.value = np.ascontiguousarray(array.T).reshape(self.tensor.shape) if self.turned else array


class Model(NamedTuple):
    """What both lowering and the native twin make. ``loss`` is that of each sample, or None where the graph has none."""

    inputs: Dict[str, Any]
    outputs: Dict[str, Any]
    loss: Any
    tensors: Dict[str, Tensor]


def combined(functions: List[Any]) -> Any:
    """Return one function of all. CNTK never frees what a combination was made of, once that has run: a single one needs none."""
    return C.combine(functions) if len(functions) > 1 else functions[0]


def descriptor(device: str) -> Any:
    """Return CNTK's own of "cpu", "cuda" or "cuda:N"."""
    return C.cpu() if device == "cpu" else C.gpu(int(device.partition(":")[2] or 0))


class Session:
    """A model, its trainer where it trains, and the values that the last step left."""

    def __init__(self, model: Model, request: BuildRequest) -> None:
        self.model = model
        self.variant = request.variant
        self.dtype = DTYPES[request.precision]
        self.asked = request.device
        self.device = descriptor(request.device)
        self.function = combined(list(model.outputs.values()))
        self.trainer: Any = None
        self.bounds: Optional[Tuple[float, float]] = None
        self.wanted = [function.output for function in model.outputs.values()]
        self.result: Dict[Any, Any] = {}
        self.batch = 0


def _library(name: str) -> Any:
    return ctypes.CDLL(str(Path(C.__file__).parent / "libs" / name))  # the one that is loaded already


def threads_in_effect() -> Set[int]:
    """Return the thread counts of CNTK, of its OpenMP and of its MKL: one where all agree."""
    openmp, mkl = _library("libiomp5.so"), _library("libmklml_intel.so")
    return {C.cntk_py.get_max_num_cputhreads(), openmp.omp_get_max_threads(), mkl.MKL_Get_Max_Threads()}


def mkl_version() -> str:
    """Return a name such as "MKL 2018.0.3"."""
    text = ctypes.create_string_buffer(200)
    _library("libmklml_intel.so").MKL_Get_Version_String(text, len(text))
    return "MKL %s" % text.value.decode().partition("Version ")[2].split(" ")[0]


def mkl_kernels() -> str:
    number = _library("libmklml_intel.so").mkl_serv_cpu_detect()
    return MKL_KERNELS.get(number, "CPU type %d" % number)


def device_of(tensor: Tensor) -> str:
    device = super(type(tensor.tensor), tensor.tensor).value().device()  # CNTK's own view; the property makes it numpy's
    return "cpu" if device.type() == C.device.DeviceKind.CPU else "cuda:%d" % device.id()


def gpu_library() -> str:
    return "cuDNN %d" % _library("libcudnn.so.7").cudnnGetVersion()


def set_threads(threads: int) -> None:
    C.cntk_py.set_max_num_cputhreads(threads)
    found = threads_in_effect()
    if found != {threads}:
        raise Unsupported("threads", "CNTK has %s after it was told %d" % (" and ".join(map(str, sorted(found))), threads))


def choose_kernels(variant: str) -> None:
    """Set what MKL reads when it first computes in a process; a worker has one variant."""
    if variant != "avx2":
        return
    if " avx2 " not in Path("/proc/cpuinfo").read_text():
        raise Unsupported("avx2", "this CPU has no AVX2")
    os.environ["MKL_DEBUG_CPU_TYPE"] = "5"
    if mkl_kernels() != "AVX2":
        raise Unsupported("avx2", "MKL had chosen its kernels before: %s" % mkl_kernels())


def configure(request: BuildRequest) -> None:
    """Refuse what CNTK, or this build of it, cannot do, and set what holds for the process."""
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the CNTK adapter runs fp64 and fp32, not %s" % request.precision)
    if request.variant not in EXECUTIONS:
        raise Unsupported("variant", "CNTK has graph and avx2, not '%s'" % request.variant)
    choose_kernels(request.variant)
    set_threads(request.threads)
    if request.device != "cpu":
        use_gpu(request)


def use_gpu(request: BuildRequest) -> None:
    """Let parameters be made on the GPU, or refuse."""
    if request.variant != "graph":
        raise Unsupported("variant", "'%s' chooses kernels of the CPU" % request.variant)
    try:
        device = descriptor(request.device)
    except ValueError:
        raise Unsupported("device", "CNTK sees no %s" % request.device)
    if not C.device.try_set_default_device(device):
        raise Unsupported("device", "CNTK has run on another device in this process")


def lower_graph(graph: Graph, weights: Arrays, request: BuildRequest) -> Model:
    dtype = DTYPES[request.precision]
    inputs = {spec.name: C.input_variable(spec.shape, dtype=dtype, name=spec.name) for spec in graph.inputs}
    values: Dict[str, Any] = dict(inputs)
    tensors: Dict[str, Tensor] = {}
    for node in graph.nodes:
        function = getattr(lower, node.op, None)
        if function is None:
            raise Unsupported(node.op, "the CNTK adapter has no lowering for it")
        params = {}
        for role, name in node.params.items():
            if name not in tensors:  # tied parameters are there already
                # Statistics are constants, which is what batch normalisation writes to.
                if graph.params[name].trainable:
                    tensors[name] = Tensor(C.Parameter(init=weights[name], dtype=dtype, name=name))
                else:
                    tensors[name] = Tensor(C.Constant(weights[name], dtype=dtype, name=name))
            params[role] = tensors[name].tensor
        arguments = [values[name] for name in node.inputs] or list(inputs.values())[:1]  # a variable wants an input's axis of samples
        values[node.name] = function(node, arguments, params, request.batch)
    outputs = {name: values[name] for name in graph.outputs}
    return Model(inputs, outputs, values[graph.loss] if graph.loss else None, tensors)


def prepare(model: Model, request: BuildRequest) -> Session:
    """Give ``model`` a trainer where it trains. Serves lowered and native models."""
    session = Session(model, request)
    if request.mode == "train":
        learner = optimizer.make(request.optimizer, list(model.loss.parameters), request.batch, session.device)
        session.bounds = request.optimizer.bounds
        session.trainer = C.Trainer(session.function, (model.loss,), [learner])
    return session


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    configure(request)
    return prepare(lower_graph(graph, weights, request), request)


@hookimpl
def stage_batch(session: Session, arrays: Arrays) -> Dict[Any, Any]:
    """Make CNTK's own values once: a step that is given arrays converts them each time."""
    staged = {}
    for name, array in arrays.items():
        view = C.NDArrayView.from_dense(np.ascontiguousarray(array, session.dtype), session.device)
        staged[session.model.inputs[name]] = C.Value(view)
    session.batch = len(array)
    return staged


@hookimpl
def train_step(session: Session, batch: Dict[Any, Any]) -> None:
    result = dict.fromkeys(session.wanted)
    # What Trainer.train_minibatch calls; it would copy every output into a numpy array.
    super(C.Trainer, session.trainer).train_minibatch(batch, False, result, session.device)
    if session.bounds:
        for parameter in session.model.loss.parameters:
            parameter.value = np.clip(parameter.value, *session.bounds)
    session.result = result


@hookimpl
def infer_step(session: Session, batch: Dict[Any, Any]) -> None:
    session.result = session.function.forward(batch, session.wanted, device=session.device, as_numpy=False)[1]


@hookimpl
def sync_device(session: Session) -> None:
    """On a CPU there is nothing to wait for: every call returns when its values are there. For a GPU CNTK has no call that waits."""
    if session.asked != "cpu":
        runtime = _library("libcudart.so.10.0")
        if runtime.cudaSetDevice(session.device.id()) or runtime.cudaDeviceSynchronize():
            raise RuntimeError("CUDA reports error %d" % runtime.cudaGetLastError())


@hookimpl
def read_results(session: Session) -> Dict[str, Any]:
    outputs = {name: np.array(session.result[v].asarray()) for name, v in zip(session.model.outputs, session.wanted)}
    loss = None if session.trainer is None else session.trainer.previous_minibatch_loss_average
    return {"outputs": outputs, "loss": loss}


@hookimpl
def read_weights(session: Session) -> Arrays:
    return {name: tensor.read() for name, tensor in session.model.tensors.items()}


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    precisions = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    device = device_of(next(iter(session.model.tensors.values())))
    on_cpu = device == "cpu"
    ledger = {
        "framework": "CNTK",
        "version": C.__version__,
        "device": "cuda" if (session.asked, device) == ("cuda", "cuda:0") else device,
        "precision": precisions[np.dtype(session.wanted[0].dtype)],
        "batch": session.batch,
        "threads": max(threads_in_effect()),
        "layout": "channels first",
        "execution": EXECUTIONS[session.variant],
        "library": "%s, %s" % (mkl_version(), mkl_kernels()) if on_cpu else gpu_library(),
        "async_steps": not on_cpu,
        "running_var": "unbiased",
    }
    if not on_cpu:
        ledger["tf32"] = False  # CUDA 10 knows none
    if depth_first_search(session.function, lambda node: getattr(node, "op_name", "") == "Gather"):
        ledger["embedding_gradient"] = "dense"  # which is all that gather has
    return ledger


@hookimpl
def close_model(session: Session) -> None:
    session.__dict__.clear()
