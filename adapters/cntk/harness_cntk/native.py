"""The native twin: ResNet-50 v1.5 as a CNTK user writes it, to measure what lowering from the graph costs."""

from typing import Any, Dict

import cntk as C
import numpy as np
from cntk.layers import BatchNormalization, Convolution2D, Dense, GlobalAveragePooling, MaxPooling

from harness.core import BuildRequest, Graph, Unsupported
from harness_cntk.adapter import DTYPES, Model, Session, Tensor, configure, prepare
from harness_cntk.lower import time_constant

# CNTK's names of a layer's tensors by the role of the neutral parameter.
TENSORS = {"weight": "W", "bias": "b", "gamma": "scale", "beta": "bias", "mean": "aggregate_mean", "var": "aggregate_variance"}


def conv_bn(x: Any, prefix: str, suffix: str, filters: int, kernel: int, stride: int = 1) -> Any:
    name, fits = prefix + "%s" + suffix, x.shape[1] >= kernel
    if not fits:  # CNTK refuses a kernel larger than the map even where padding makes up for it; small images have such maps
        x = C.pad(x, [(0, 0)] + [(kernel // 2, kernel // 2)] * 2, mode=C.ops.CONSTANT_PAD)
    x = Convolution2D((kernel, kernel), filters, pad=fits and kernel > 1, strides=stride, bias=False, name=name % "conv")(x)
    return BatchNormalization(map_rank=1, use_cntk_engine=True, name=name % "bn")(x)


def bottleneck(x: Any, name: str, width: int, stride: int) -> Any:
    y = C.relu(conv_bn(x, name, "1", width, 1))
    y = C.relu(conv_bn(y, name, "2", width, 3, stride))
    y = conv_bn(y, name, "3", 4 * width, 1)
    if x.shape != y.shape:
        x = conv_bn(x, name + "down_", "", 4 * width, 1, stride)
    return C.relu(y + x)


def resnet50(x: Any) -> Any:
    x = C.relu(conv_bn(x, "", "1", 64, 7, 2))
    x = MaxPooling((3, 3), 2, pad=True)(x)
    for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
        for index in range(count):
            x = bottleneck(x, "layer%d.%d." % (stage, index), width, 2 if stage > 1 and index == 0 else 1)
    return Dense(1000, name="fc")(GlobalAveragePooling()(x))


def norm_momentum(graph: Graph) -> float:
    return next(node.attrs["momentum"] for node in graph.nodes if node.op == "batch_norm")


def load(model: Any, graph: Graph, weights: Dict[str, np.ndarray]) -> Dict[str, Tensor]:
    """Copy the neutral weights, whose names follow the same tree, and return the tensors by neutral name."""
    tensors = {}
    for name, spec in graph.params.items():
        layer = model.find_by_name(name.rpartition(".")[0])
        tensors[name] = Tensor(getattr(layer, TENSORS[spec.role]), turned=name == "fc.weight")
        tensors[name].write(weights[name])
        if spec.role == "mean":
            layer.aggregate_count.value = np.ones_like(layer.aggregate_count.value)  # at 0 the first batch would replace the statistics
    return tensors


def build_native(graph: Graph, weights: Dict[str, np.ndarray], request: BuildRequest) -> Session:
    """Return a session of the twin with the neutral weights."""
    if graph.name != "resnet50":
        raise Unsupported(graph.name, "the native twin is ResNet-50")
    configure(request)
    with C.default_options(dtype=DTYPES[request.precision]):
        inputs = {spec.name: C.input_variable(spec.shape, name=spec.name) for spec in graph.inputs}
        with C.default_options_for(BatchNormalization, normalization_time_constant=time_constant(norm_momentum(graph), request.batch)):
            logits = resnet50(inputs["image"])
        loss = C.cross_entropy_with_softmax(logits, C.one_hot(inputs["labels"], 1000)) if request.mode == "train" else None
    tensors = load(logits, graph, weights)
    return prepare(Model(inputs, {graph.outputs[0]: logits}, loss, tensors), request)
