"""The hooks for PyTorch. The graph becomes an fx GraphModule of the framework's own modules, channels last."""

from collections import OrderedDict
from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from torch import fx, nn

from harness.core import BuildRequest, Graph, Unsupported, hookimpl
from harness_pytorch import lower

Arrays = Dict[str, np.ndarray]
DTYPES = {"fp64": torch.float64, "fp32": torch.float32}
LAYOUT = torch.channels_last  # faster than contiguous for convolutions on CPUs, training included, and on tensor cores

# Names of a module's tensors by the role of the neutral parameter.
TENSORS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "mean": "running_mean", "var": "running_var"}

torch.set_num_interop_threads(1)  # allowed only before the first parallel work, hence at import


class Session:
    """A module, its optimiser where it trains, and what the last step returned."""

    def __init__(self, module: nn.Module, params: Dict[str, torch.Tensor], outputs: Tuple[str, ...], request: BuildRequest) -> None:
        self.module = module
        self.params = params
        self.outputs = outputs
        self.device = torch.device(request.device)
        self.dtype = DTYPES[request.precision]
        self.run: Any = module
        self.optimizer: Any = None
        self.result: Any = None
        self.batch = 0


def lower_graph(graph: Graph, weights: Arrays) -> Tuple[fx.GraphModule, Dict[str, torch.Tensor]]:
    """Return the module and its tensors by neutral parameter name."""
    readers = graph.consumers()
    inputs = {spec.name for spec in graph.inputs}
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
        overwrite = readers[node.inputs[0]] == 1 and node.inputs[0] not in inputs
        lowered = function(node, params, overwrite)
        arguments = tuple(values[name] for name in node.inputs)
        if isinstance(lowered, nn.Module):
            path = node.name.replace(".", "_")
            modules[path] = lowered
            values[node.name] = traced.call_module(path, arguments)
        else:
            values[node.name] = traced.call_function(lowered, arguments)
    names = graph.outputs + ((graph.loss,) if graph.loss else ())
    traced.output(tuple(values[name] for name in names))
    module = fx.GraphModule(modules, traced)
    return module, {
        name: getattr(module.get_submodule(node.name.replace(".", "_")), TENSORS[role])
        for node in graph.nodes
        for role, name in node.params.items()
    }


def prepare(module: nn.Module, params: Dict[str, torch.Tensor], graph: Graph, request: BuildRequest) -> Session:
    """Put ``module`` on the device in the layout, precision and execution asked for. Serves lowered and native models."""
    torch.set_num_threads(request.threads)
    for backend in (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.mkldnn.conv, torch.backends.mkldnn.matmul):
        backend.fp32_precision = "ieee"  # otherwise a GPU may run fp32 rows in TF32
    session = Session(module, params, graph.outputs, request)
    module.to(session.device, session.dtype, memory_format=LAYOUT)
    module.train(request.mode == "train")
    if request.mode == "train":
        parameters = [p for p in module.parameters() if p.requires_grad]
        lr, momentum = request.optimizer
        session.optimizer = torch.optim.SGD(parameters, lr=lr, momentum=momentum, fused=True)
    else:
        module.requires_grad_(False)
    if request.variant == "compile":
        if request.mode == "infer":
            import torch._inductor.config as inductor

            # Freezing folds batch normalisation and prepacks weights, as its documentation advises; oneDNN packs no float64.
            inductor.freezing = request.precision != "fp64"
        session.run = torch.compile(module)
    elif request.variant != "eager":
        raise Unsupported("variant", "PyTorch has eager and compile, not '%s'" % request.variant)
    return session


@hookimpl
def build_model(graph: Graph, weights: Arrays, request: BuildRequest) -> Session:
    if request.precision not in DTYPES:
        raise Unsupported("precision", "the PyTorch adapter runs fp64 and fp32, not %s" % request.precision)
    module, params = lower_graph(graph, weights)
    return prepare(module, params, graph, request)


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
    session.optimizer.step()


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
    arrays = [tensor.detach().cpu().numpy() for tensor in session.result]
    loss = None if session.optimizer is None else float(arrays[-1])
    weights = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in session.params.items()}
    return {"outputs": dict(zip(session.outputs, arrays)), "loss": loss, "weights": weights}


@hookimpl
def describe(session: Session) -> Dict[str, Any]:
    tensor = next(iter(session.params.values()))
    precisions = {dtype: name for name, dtype in DTYPES.items()}
    return {
        "framework": "PyTorch",
        "version": torch.__version__,
        "device": tensor.device.type if session.device.index is None else str(tensor.device),  # a number where one was asked for
        "precision": precisions[tensor.dtype],
        "batch": session.batch,
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "layout": "channels last",
        "execution": "eager" if session.run is session.module else "torch.compile",
        "fp32_arithmetic": torch.backends.mkldnn.conv.fp32_precision,
        "tf32": torch.backends.cudnn.conv.fp32_precision != "ieee" or torch.backends.cuda.matmul.fp32_precision != "ieee",
        "library": "oneDNN %s" % torch.backends.cpu.get_cpu_capability() if torch.backends.mkldnn.enabled else "native kernels",
        "async_steps": session.device.type == "cuda",
        "running_var": "unbiased",
    }


@hookimpl
def close_model(session: Session) -> None:
    session.__dict__.clear()
