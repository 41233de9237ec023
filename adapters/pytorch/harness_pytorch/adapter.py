"""The hooks for PyTorch. The graph becomes an fx GraphModule of the framework's own modules, channels last."""

from collections import OrderedDict
from operator import attrgetter
from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy as np
import torch
from torch import fx, nn

from harness.core import BuildRequest, Graph, Node, Optimizer, Unsupported, hookimpl
from harness_pytorch import lower

Arrays = Dict[str, np.ndarray]
DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
READ_AS = {torch.bfloat16: torch.float32}  # numpy has no such type
LAYOUT = torch.channels_last  # faster than contiguous for convolutions on CPUs, training included, and on tensor cores
# Whose outputs may be overwritten: memory of their own, which their gradients do not need. An LSTM's do, and dropout and
# flatten may hand on their input.
OVERWRITABLE = ("add", "batch_norm", "conv2d", "dense")

ARITHMETIC = (
    torch.backends.cuda.matmul,
    torch.backends.cudnn.conv,
    torch.backends.cudnn.rnn,
    torch.backends.mkldnn.conv,
    torch.backends.mkldnn.matmul,
    torch.backends.mkldnn.rnn,
)

torch.set_num_interop_threads(1)  # allowed only before the first parallel work, hence at import


class Session:
    """A module, its optimiser where it trains, and what the last step returned."""

    def __init__(self, module: nn.Module, places: Dict[str, str], outputs: Tuple[str, ...], request: BuildRequest) -> None:
        self.module = module
        self.places = places  # neutral parameter names to those in the module
        self.outputs = outputs
        self.device = torch.device(request.device)
        self.dtype = DTYPES[request.precision]
        self.run: Any = module
        self.optimizer: Any = None
        self.trained: List[nn.Parameter] = []
        self.clip_norm = 0.0
        self.bounds: Optional[Tuple[float, float]] = None
        self.result: Any = None
        self.batch = 0

    def tensors(self) -> Dict[str, torch.Tensor]:
        """Return parameters and running statistics by neutral name."""
        return {name: attrgetter(place)(self.module) for name, place in self.places.items()}


def lower_graph(graph: Graph, weights: Arrays) -> Tuple[fx.GraphModule, Dict[str, str]]:
    """Return the module and the places in it of the neutral parameters."""
    readers = graph.consumers()
    ops = {node.name: node.op for node in graph.nodes}
    modules: Dict[str, nn.Module] = OrderedDict()
    values: Dict[str, fx.Node] = {}
    traced = fx.Graph()
    for spec in graph.inputs:
        values[spec.name] = traced.placeholder(spec.name)
    for node in graph.nodes:
        function = getattr(lower, node.op, None)
        if function is None:
            raise Unsupported(node.op, "the PyTorch adapter has no lowering for it")
        params = {role: weights[name] for role, name in node.params.items()}
        overwrite = any(readers[name] == 1 and ops.get(name) in OVERWRITABLE for name in node.inputs[:1])
        lowered = function(node, params, overwrite)
        arguments = tuple(values[name] for name in node.inputs)
        if isinstance(lowered, nn.Module):
            modules[_path(node)] = lowered
            values[node.name] = traced.call_module(_path(node), arguments)
        else:
            values[node.name] = traced.call_function(lowered, arguments)
    names = graph.outputs + ((graph.loss,) if graph.loss else ())
    traced.output(tuple(values[name] for name in names))
    module = fx.GraphModule(modules, traced)
    return module, _tie(module, graph)


def _path(node: Node) -> str:
    return node.name.replace(".", "_")


def _tie(module: fx.GraphModule, graph: Graph) -> Dict[str, str]:
    """Let nodes that share parameters share tensors; return the first place of each parameter."""
    places: Dict[str, str] = {}
    for node in graph.nodes:
        for role, name in node.params.items():
            place = "%s.%s" % (_path(node), lower.TENSORS[role])
            if places.setdefault(name, place) != place:
                holder, _, attribute = place.rpartition(".")
                setattr(module.get_submodule(holder), attribute, attrgetter(places[name])(module))
    return places


def prepare(module: nn.Module, places: Dict[str, str], graph: Graph, request: BuildRequest) -> Session:
    """Put ``module`` on the device in the layout, precision and execution asked for. Serves lowered and native models."""
    torch.set_num_threads(request.threads)
    for backend in ARITHMETIC:
        backend.fp32_precision = "tf32" if request.precision == "tf32" else "ieee"  # otherwise a GPU may run fp32 rows in TF32
    session = Session(module, places, graph.outputs, request)
    torch.backends.cudnn.benchmark = request.track == "as-shipped"  # PyTorch's tuning guide advises it where shapes stay the same
    if session.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(session.device)  # the peak of this session alone
    module.to(session.device, session.dtype, memory_format=LAYOUT)
    module.train(request.mode == "train")
    if request.mode == "train":
        for name, tensor in session.tensors().items():
            if isinstance(tensor, nn.Parameter):
                tensor.requires_grad_(graph.params[name].trainable)
        session.trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        session.optimizer = make_optimizer(session.trained, request.optimizer)
        session.clip_norm, session.bounds = request.optimizer.clip_norm, request.optimizer.bounds
    else:
        module.requires_grad_(False)
    if request.variant == "compile":
        if request.mode == "infer":
            import torch._inductor.config as inductor

            # Freezing folds batch normalisation and prepacks weights, as its documentation advises; oneDNN packs no float64.
            inductor.freezing = request.precision != "fp64" and request.track == "as-shipped"
        session.run = torch.compile(module)
    elif request.variant != "eager":
        raise Unsupported("variant", "PyTorch has eager and compile, not '%s'" % request.variant)
    return session


def make_optimizer(parameters: List[nn.Parameter], wanted: Optimizer) -> torch.optim.Optimizer:
    if wanted.name == "adam":
        return torch.optim.Adam(parameters, wanted.lr, (wanted.beta1, wanted.beta2), wanted.epsilon, fused=True)
    return torch.optim.SGD(parameters, wanted.lr, wanted.momentum, fused=True)


def clip(parameters: Iterable[nn.Parameter], limit: float) -> None:
    """Scale gradients down to the norm ``limit`` where theirs is larger, without asking the device whether it is.

    ``clip_grad_norm_`` would add 1e-6 to the norm.
    """
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    torch._foreach_mul_(grads, (limit / torch.nn.utils.get_total_norm(grads)).clamp(max=1.0))


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the PyTorch adapter runs %s, not %s" % (", ".join(DTYPES), request.precision))
    if request.mode == "train" and DTYPES[request.precision].itemsize < 4:
        raise Unsupported(
            "precision", "training with weights in %s loses small updates; mixed precision is not lowered" % request.precision
        )
    module, places = lower_graph(graph, weights)
    return prepare(module, places, graph, request)


@hookimpl
def stage_batch(session: Session, arrays: Arrays) -> List[torch.Tensor]:
    staged = []
    for array in arrays.values():
        tensor = torch.as_tensor(array)
        if array.dtype.kind != "f":
            tensor = tensor.long()  # what cross-entropy wants
        elif array.ndim == 4:
            tensor = tensor.to(session.dtype).contiguous(memory_format=LAYOUT)
        else:
            tensor = tensor.to(session.dtype)
        staged.append(tensor.to(session.device))
    session.batch = len(staged[0])
    return staged


@hookimpl
def train_step(session: Session, batch: List[torch.Tensor]) -> None:
    session.optimizer.zero_grad(set_to_none=True)
    session.result = session.run(*batch)
    session.result[-1].backward()
    if session.clip_norm:
        clip(session.trained, session.clip_norm)
    session.optimizer.step()
    if session.bounds:
        with torch.no_grad():
            for parameter in session.trained:
                parameter.clamp_(*session.bounds)


@hookimpl
def infer_step(session: Session, batch: List[torch.Tensor]) -> None:
    with torch.inference_mode():
        session.result = session.run(*batch)


@hookimpl
def sync_device(session: Session) -> None:
    if session.device.type == "cuda":
        torch.cuda.synchronize(session.device)


@hookimpl
def read_results(session: Session) -> Dict[str, Any]:
    arrays = [tensor.detach().cpu().to(READ_AS.get(tensor.dtype, tensor.dtype)).numpy() for tensor in session.result]
    loss = None if session.optimizer is None else float(arrays[-1])
    return {"outputs": dict(zip(session.outputs, arrays)), "loss": loss}


@hookimpl
def read_weights(session: Session) -> Arrays:
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in session.tensors().items()}


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    tensors = list(session.tensors().values())
    tf32 = any(backend.fp32_precision != "ieee" for backend in ARITHMETIC)
    precisions = {dtype: name for name, dtype in DTYPES.items() if name != "tf32"}
    precision = precisions[tensors[0].dtype]
    ledger = {
        "framework": "PyTorch",
        "version": torch.__version__,
        "device": tensors[0].device.type if session.device.index is None else str(tensors[0].device),  # a number where one was asked for
        "precision": "tf32" if precision == "fp32" and tf32 else precision,
        "batch": session.batch,
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "layout": "channels last" if any(is_channels_last(tensor) for tensor in tensors) else "contiguous",
        "execution": "eager" if session.run is session.module else "torch.compile",
        "autocast": torch.is_autocast_enabled(tensors[0].device.type),
        "deterministic": torch.are_deterministic_algorithms_enabled() or torch.backends.cudnn.deterministic,
        "fp32_arithmetic": torch.backends.mkldnn.conv.fp32_precision,
        "tf32": tf32,
        "library": "oneDNN %s" % torch.backends.cpu.get_cpu_capability() if torch.backends.mkldnn.enabled else "native kernels",
        "async_steps": session.device.type == "cuda",
        "running_var": "unbiased",
    }
    if session.device.type == "cuda":
        ledger["autotune"] = torch.backends.cudnn.benchmark
    if session.run is not session.module:
        from torch._dynamo.utils import counters

        ledger["compilations"] = counters["stats"]["unique_graphs"]  # of the process: one that grows was made while timing
    embeddings = [module for module in session.module.modules() if isinstance(module, nn.Embedding)]
    if embeddings:
        ledger["embedding_gradient"] = "sparse" if any(module.sparse for module in embeddings) else "dense"
    return ledger


def is_channels_last(tensor: torch.Tensor) -> bool:
    return tensor.ndim == 4 and tensor.is_contiguous(memory_format=LAYOUT)


@hookimpl
def peak_memory(session: Session) -> Optional[int]:
    return torch.cuda.max_memory_allocated(session.device) if session.device.type == "cuda" else None


@hookimpl
def close_model(session: Session) -> None:
    session.__dict__.clear()
