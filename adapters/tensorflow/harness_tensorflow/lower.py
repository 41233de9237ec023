"""Neutral ops in TensorFlow: one function an op, each returning a call on tensors and the variables that it reads.

A function gets the node, its parameters by role (numpy, neutral layout) and where the node stands. Maps are NHWC inside,
so convolution weights are HWIO, and a dense layer behind a flatten has its inputs reordered once, at load.
"""

from typing import Any, Callable, Dict, NamedTuple, Tuple

import numpy as np
import tensorflow as tf

from harness.core import BuildRequest, Node, Unsupported
from harness.core.ops import OPS

Params = Dict[str, np.ndarray]
Shape = Tuple[int, ...]

STATISTICS = ("mean", "var")


class Site(NamedTuple):
    """``shape`` is the neutral shape of the node's first input; for a flattened map it is that of the map."""

    shape: Shape
    request: BuildRequest


class Layout(NamedTuple):
    """A neutral array, seen as ``view`` with its axes in the order ``axes``, is the framework's array of ``shape``."""

    neutral: Shape
    view: Shape
    axes: Shape
    shape: Shape

    def inward(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.view).transpose(self.axes).reshape(self.shape)

    def outward(self, array: np.ndarray) -> np.ndarray:
        moved = tuple(self.view[axis] for axis in self.axes)
        return array.reshape(moved).transpose(np.argsort(self.axes)).reshape(self.neutral)


class Weight(NamedTuple):
    """A variable and the layout of its values."""

    variable: tf.Variable
    layout: Layout


class Lowered(NamedTuple):
    """What a node does to tensors, and its variables by role."""

    call: Callable[..., Any]
    weights: Dict[str, Weight] = {}


def vector_layout(shape: Shape) -> Layout:
    return Layout(shape, shape, (0,), shape)


def map_layout(shape: Shape) -> Layout:
    """(N, C, H, W) to NHWC."""
    batch, channels, height, width = shape
    return Layout(shape, shape, (0, 2, 3, 1), (batch, height, width, channels))


def flat_layout(batch: int, source: Shape) -> Layout:
    """(N, C*H*W) to (N, H*W*C) for a flattened map of the neutral shape ``source``."""
    size = int(np.prod(source))
    return Layout((batch, size), (batch,) + source, (0, 2, 3, 1), (batch, size))


def conv_layout(shape: Shape) -> Layout:
    """OIHW to HWIO."""
    filters, channels, rows, columns = shape
    return Layout(shape, shape, (2, 3, 1, 0), (rows, columns, channels, filters))


def depthwise_layout(shape: Shape, groups: int) -> Layout:
    """(channels * multiplier, 1, H, W) to (H, W, channels, multiplier)."""
    filters, _, rows, columns = shape
    view = (groups, filters // groups, rows, columns)
    return Layout(shape, view, (2, 3, 0, 1), (rows, columns) + view[:2])


def dense_layout(shape: Shape, source: Shape = ()) -> Layout:
    """(out, in) to (in, out); where ``source`` is the shape of a flattened map, the inputs come in NHWC order."""
    units, inputs = shape
    if len(source) == 3:
        return Layout(shape, (units,) + source, (2, 3, 1, 0), (inputs, units))
    return Layout(shape, shape, (1, 0), (inputs, units))


def _keep(params: Params, weight: Any = None) -> Dict[str, Weight]:
    """Return variables for ``params``, all of them vectors but the weight, whose layout is given."""
    layouts = {role: weight if role == "weight" else vector_layout(array.shape) for role, array in params.items()}
    return {
        role: Weight(tf.Variable(layouts[role].inward(array), trainable=role not in STATISTICS), layouts[role])
        for role, array in params.items()
    }


def _padded(x: tf.Tensor, pads: Shape, value: float = 0.0) -> tf.Tensor:
    top, left, bottom, right = pads
    return tf.pad(x, [[0, 0], [top, bottom], [left, right], [0, 0]], constant_values=value) if any(pads) else x


def _windows(node: Node) -> Tuple[str, Shape]:
    """Return how a convolution names its padding, and the pads to put around its input before.

    "SAME" means fixed pads at stride 1 only. An explicit pad list would serve everywhere, but its gradients cost a fifth
    of a training step of ResNet-50 on CPUs.
    """
    rows, columns = node.attrs["kernel"]
    same = ((rows - 1) // 2, (columns - 1) // 2, rows // 2, columns // 2)
    if tuple(node.attrs["stride"]) == (1, 1) and tuple(node.attrs["pads"]) == same:
        return "SAME", (0, 0, 0, 0)
    return "VALID", node.attrs["pads"]


def add(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(tf.add)


def batch_norm(node: Node, params: Params, site: Site) -> Lowered:
    weights = _keep(params)
    values = {role: weight.variable for role, weight in weights.items()}
    if site.request.mode == "infer":
        function = _normalise
    elif site.request.precision == "fp32" and len(site.shape) == 3:
        function = _fused_batch_norm
    else:
        function = _composed_batch_norm
    return Lowered(lambda x: function(x, node.attrs, **values), weights)


def _normalise(x: tf.Tensor, attrs: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> tf.Tensor:
    return tf.nn.batch_normalization(x, mean, var, beta, gamma, attrs["epsilon"])


def _fused_batch_norm(x: tf.Tensor, attrs: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> tf.Tensor:
    result = tf.raw_ops.FusedBatchNormV3(
        x=x,
        scale=gamma,
        offset=beta,
        mean=mean,
        variance=var,
        epsilon=attrs["epsilon"],
        exponential_avg_factor=attrs["momentum"],
        is_training=True,
    )
    mean.assign(result.batch_mean)  # already blended with the running ones, the variance over N - 1
    var.assign(result.batch_variance)
    return result.y


def _composed_batch_norm(x: tf.Tensor, attrs: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> tf.Tensor:
    """The fused kernel has no float64 and wants maps."""
    batch_mean, batch_var = tf.nn.moments(x, list(range(x.shape.rank - 1)))
    count = x.shape.num_elements() // x.shape[-1]
    momentum = attrs["momentum"]
    mean.assign((1 - momentum) * mean + momentum * batch_mean)
    var.assign((1 - momentum) * var + momentum * count / (count - 1) * batch_var)
    return tf.nn.batch_normalization(x, batch_mean, batch_var, beta, gamma, attrs["epsilon"])


def conv2d(node: Node, params: Params, site: Site) -> Lowered:
    groups = node.attrs["groups"]
    if groups > 1 and params["weight"].shape[1] == 1:
        return _depthwise(node, params, site)
    request = site.request
    if groups > 1 and request.mode == "train" and request.device == "cpu" and request.variant != "xla":
        raise Unsupported(node.op, "TensorFlow has no gradient of grouped convolutions on CPUs outside XLA")
    weights = _keep(params, conv_layout(params["weight"].shape))
    padding, pads = _windows(node)

    def call(x: tf.Tensor) -> tf.Tensor:
        return _biased(tf.nn.conv2d(_padded(x, pads), weights["weight"].variable, node.attrs["stride"], padding), weights)

    return Lowered(call, weights)


def _depthwise(node: Node, params: Params, site: Site) -> Lowered:
    rows, columns = node.attrs["stride"]
    if rows != columns:
        raise Unsupported(node.op, "TensorFlow's depthwise convolution wants equal strides")
    weights = _keep(params, depthwise_layout(params["weight"].shape, node.attrs["groups"]))
    padding, pads = _windows(node)

    def call(x: tf.Tensor) -> tf.Tensor:
        return _biased(tf.nn.depthwise_conv2d(_padded(x, pads), weights["weight"].variable, (1, rows, columns, 1), padding), weights)

    return Lowered(call, weights)


def _biased(y: tf.Tensor, weights: Dict[str, Weight]) -> tf.Tensor:
    return tf.nn.bias_add(y, weights["bias"].variable) if "bias" in weights else y


def dense(node: Node, params: Params, site: Site) -> Lowered:
    weights = _keep(params, dense_layout(params["weight"].shape, site.shape))
    return Lowered(lambda x: _biased(tf.matmul(x, weights["weight"].variable), weights), weights)


def dropout(node: Node, params: Params, site: Site) -> Lowered:
    rate = node.attrs["rate"] if site.request.mode == "train" else 0.0
    return Lowered(lambda x: tf.nn.dropout(x, rate) if rate else x)


def flatten(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda x: tf.reshape(x, (x.shape[0], -1)))


def global_avg_pool(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda x: tf.reduce_mean(x, (1, 2)))


def max_pool2d(node: Node, params: Params, site: Site) -> Lowered:
    pads = OPS["max_pool2d"].full_pads(node.attrs, site.shape)
    kernel, stride = node.attrs["kernel"], node.attrs["stride"]
    # XLA refuses an explicit pad list; the smallest number as padding never wins.
    return Lowered(lambda x: tf.nn.max_pool2d(_padded(x, pads, x.dtype.min), kernel, stride, "VALID"))


def relu(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(tf.nn.relu)


def softmax_cross_entropy(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda logits, labels: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)))
