"""The hooks for MXNet. The graph becomes one symbol, which Gluon runs as a SymbolBlock."""

import json
import threading
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import mxnet as mx
import numpy as np

from harness.core import BuildRequest, Graph, TensorSpec, Unsupported, hookimpl
from harness_mxnet import DTYPES, lower, optimizer, sequence
from harness_mxnet.symbols import Setting

Arrays = Dict[str, np.ndarray]
Names = Tuple[str, ...]
Parameters = Dict[Names, Any]  # Gluon's, by the neutral parameters that they hold one after the other
FLAGS: Dict[str, Dict[str, bool]] = {"static": {"static_alloc": True, "static_shape": True}, "hybrid": {}}
ONEDNN = "MKLDNN"  # MXNet's name of it, both as a feature of the build and as the backend that fuses subgraphs


class Session:
    """A hybridized block, its trainer where it trains, and what the last step returned."""

    def __init__(self, block: Any, params: Parameters, graph: Graph, request: BuildRequest) -> None:
        self.block = block
        self.params = params
        self.shapes = {name: spec.shape for name, spec in graph.params.items()}
        self.tables = [tuple(node.params.values()) for node in graph.nodes if node.op == "embedding"]
        self.outputs = graph.outputs
        self.steps_first = {spec.name for spec in graph.inputs if sequence.steps_first(spec)}
        self.steps_first |= {name for name in graph.outputs if len(graph.shapes[name]) == 2}
        self.device = request.device
        self.context = context_of(request.device)
        self.dtype = DTYPES[request.precision]
        self.library = library_of(self.context, self.dtype)
        self.trainer: Any = None
        self.clip_norm = 0.0
        self.grads: List[Any] = []
        self.bounds: Optional[Tuple[float, float]] = None
        self.result: Any = None
        self.batch = 0


def context_of(device: str) -> Any:
    kind, _, number = device.partition(":")
    return mx.gpu(int(number or 0)) if kind == "cuda" else mx.cpu()


def library_of(context: Any, dtype: str) -> str:
    if context.device_type == "gpu":
        return "cuDNN"
    return "oneDNN" if dtype == "float32" and mx.runtime.Features().is_enabled(ONEDNN) else "native kernels"  # oneDNN has no float64


def threads_in_effect() -> Set[int]:
    """Return every thread count that steps may run with: one where all agree.

    A new thread has what OpenMP was started with, as the threads of MXNet's engine have. The importing thread has what
    MXNet made of it, which is half the CPUs unless OMP_NUM_THREADS was set. Products in float64 run in OpenBLAS.
    """
    library = mx.base._LIB  # finds the symbols in the very libraries that MXNet is linked to
    counts = {library.omp_get_max_threads()}
    fresh = threading.Thread(target=lambda: counts.add(library.omp_get_max_threads()))
    fresh.start()
    fresh.join()
    if hasattr(library, "openblas_get_num_threads"):
        counts.add(library.openblas_get_num_threads())
    return counts


def lower_graph(graph: Graph, weights: Arrays, request: BuildRequest) -> Tuple[Any, Parameters]:
    """Return the block and its parameters."""
    dtype = DTYPES[request.precision]
    inputs = [mx.sym.var(spec.name, dtype=dtype if spec.kind == "float" else "int32") for spec in graph.inputs]
    values = dict(zip((spec.name for spec in graph.inputs), inputs))
    variables: Dict[Names, Any] = {}
    setting = Setting(request.mode == "train", request.batch, dtype, graph.shapes)
    for node in graph.nodes:
        function = getattr(lower, node.op, None)
        if function is None:
            raise Unsupported(node.op, "the MXNet adapter has no lowering for it")
        packs = sequence.packs(node)
        for names in packs.values():
            variables.setdefault(names, mx.sym.var("+".join(names), dtype=dtype))  # tied nodes share one
        params = {role: variables[names] for role, names in packs.items()}
        values[node.name] = function(node, [values[name] for name in node.inputs], params, setting)
    names = graph.outputs + ((graph.loss,) if graph.loss else ())
    block = mx.gluon.SymbolBlock([values[name] for name in names], inputs)
    owned = block.collect_params()
    params = {names: owned["+".join(names)] for names in variables}
    load(params, weights, request)
    return block, params


def load(params: Parameters, weights: Arrays, request: BuildRequest) -> None:
    """Create the parameters on the device and copy the weights in."""
    for names, param in params.items():
        array = weights[names[0]] if len(names) == 1 else np.concatenate([weights[name].ravel() for name in names])
        param.shape = array.shape
        param.initialize(mx.init.Zero(), ctx=context_of(request.device))
        param.set_data(array)


def unpack(params: Parameters, shapes: Dict[str, Tuple[int, ...]]) -> Iterator[Tuple[str, np.ndarray]]:
    """Yield every neutral parameter."""
    for names, param in params.items():
        flat, start = param.data().asnumpy().ravel(), 0
        for name in names:
            size = int(np.prod(shapes[name]))
            yield name, flat[start : start + size].reshape(shapes[name])
            start += size


def may_round_to_tf32() -> bool:
    """Whether cuDNN and cuBLAS, which read the variable when they are loaded, may round float32 products to TF32. No other switch does."""
    return bool(mx.util.getenv("NVIDIA_TF32_OVERRIDE") != "0")


def check_arithmetic(request: BuildRequest) -> None:
    """Refuse a GPU that MXNet does not see, and float32 with another rounding than the process was started with."""
    if request.device == "cpu":
        return
    if context_of(request.device).device_id >= mx.context.num_gpus():
        raise Unsupported("device", "MXNet sees no %s" % request.device)
    if request.precision in ("fp32", "tf32") and (request.precision == "tf32") != may_round_to_tf32():
        raise Unsupported("precision", "MXNet was loaded for the other one of fp32 and tf32; NVIDIA_TF32_OVERRIDE must be set before")


def check_threads(threads: int) -> None:
    found = threads_in_effect()
    if found != {threads}:
        counts = " and ".join(str(count) for count in sorted(found))
        raise Unsupported("threads", "MXNet was loaded with %s, not %d; OMP_NUM_THREADS must be set before" % (counts, threads))


def prepare(block: Any, params: Parameters, graph: Graph, request: BuildRequest) -> Session:
    """Give ``block`` the execution asked for and a trainer. Serves lowered and native models."""
    if request.variant not in FLAGS:
        raise Unsupported("variant", "MXNet has static and hybrid, not '%s'" % request.variant)
    check_threads(request.threads)
    session = Session(block, params, graph, request)
    flags = FLAGS[request.variant]
    if request.mode == "train":
        for names, param in params.items():
            if not any(graph.params[name].trainable for name in names):
                param.grad_req = "null"
        block.hybridize(**flags)
        session.bounds = request.optimizer.bounds
        session.trainer = mx.gluon.Trainer(block.collect_params(), optimizer.updater(request.optimizer))
        session.clip_norm = request.optimizer.clip_norm
        session.grads = [param.grad().reshape(-1) for param in params.values() if param.grad_req != "null"]
        return session
    for param in params.values():
        param.grad_req = "null"
    if session.library == "oneDNN" and request.track == "as-shipped":
        samples = stage_batch(session, {spec.name: sample(spec, request.batch) for spec in graph.inputs})
        block.optimize_for(*samples, backend=ONEDNN, **flags)  # folds batch norm, ReLU and sums into the convolutions
    else:
        block.hybridize(**flags)
    return session


def sample(spec: TensorSpec, batch: int) -> np.ndarray:
    return np.ones((batch,) + spec.shape, "float32" if spec.kind == "float" else "int32")


def fused_subgraphs(block: Any) -> int:
    """Count oneDNN subgraphs in the graph that the block's cached operator was made with."""
    return sum(node["op"].startswith("_sg_mkldnn") for node in json.loads(block._cached_graph[1].tojson())["nodes"])


def execution(block: Any) -> str:
    static = all(value for name, value in block._flags if name.startswith("static"))
    return "hybridized%s%s" % (", static" if static else "", ", oneDNN fusion" if fused_subgraphs(block) else "")


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the MXNet adapter runs %s, not %s" % (", ".join(DTYPES), request.precision))
    check_arithmetic(request)
    block, params = lower_graph(graph, weights, request)
    return prepare(block, params, graph, request)


@hookimpl
def stage_batch(session: Session, arrays: Arrays) -> List[Any]:
    staged = []
    for name, array in arrays.items():
        dtype = session.dtype if array.dtype.kind == "f" else "int32"
        session.batch = len(array)
        if name in session.steps_first:
            array = array.swapaxes(0, 1)
        staged.append(mx.nd.array(array, ctx=session.context, dtype=dtype))
    return staged


@hookimpl
def train_step(session: Session, batch: List[Any]) -> None:
    with mx.autograd.record():
        session.result = session.block(*batch)
    session.result[-1].backward()
    if session.clip_norm:
        optimizer.clip(session.grads, session.clip_norm)
    session.trainer.step(1)  # the loss is a mean already
    if session.bounds:
        for param in session.params.values():
            if param.grad_req != "null":
                mx.nd.clip(param.data(), *session.bounds, out=param.data())


@hookimpl
def infer_step(session: Session, batch: List[Any]) -> None:
    session.result = session.block(*batch)


@hookimpl
def sync_device(session: Session) -> None:
    mx.nd.waitall()


@hookimpl
def read_results(session: Session) -> Dict[str, Any]:
    result = [session.result] if isinstance(session.result, mx.nd.NDArray) else session.result
    arrays = [array.asnumpy() for array in result]
    loss = None if session.trainer is None else float(arrays[-1])
    outputs = {name: array.swapaxes(0, 1) if name in session.steps_first else array for name, array in zip(session.outputs, arrays)}
    return {"outputs": outputs, "loss": loss}


@hookimpl
def read_weights(session: Session) -> Arrays:
    mx.nd.waitall()  # otherwise running statistics may be read before they are written
    return dict(unpack(session.params, session.shapes))


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    array = next(iter(session.params.values())).data()
    precisions = {dtype: name for name, dtype in DTYPES.items() if name != "tf32"}
    precision = precisions[np.dtype(array.dtype).name]
    tf32 = session.device != "cpu" and may_round_to_tf32()
    ledger = {
        "framework": "MXNet",
        "version": mx.__version__,
        "device": session.device if array.context == session.context else str(array.context),
        "precision": "tf32" if precision == "fp32" and tf32 else precision,
        "batch": session.batch,
        "threads": max(threads_in_effect()),
        "layout": "steps first" if session.steps_first else "channels first",
        "execution": execution(session.block),
        "fused_subgraphs": fused_subgraphs(session.block),
        "tf32": tf32,
        "deterministic": mx.util.getenv("MXNET_ENFORCE_DETERMINISM") == "1",
        "library": session.library,
        "async_steps": mx.util.getenv("MXNET_ENGINE_TYPE") != "NaiveEngine",
        "running_var": "biased",
    }
    if session.device != "cpu":
        ledger["autotune"] = mx.util.getenv("MXNET_CUDNN_AUTOTUNE_DEFAULT") != "0"  # on, unless it is told otherwise
    if session.tables and session.trainer:
        stypes = {session.params[names].grad().stype for names in session.tables}
        ledger["embedding_gradient"] = "dense" if stypes == {"default"} else "sparse"
    return ledger


@hookimpl
def close_model(session: Session) -> None:
    mx.nd.waitall()  # errors of queued steps belong to this session
    session.__dict__.clear()
