"""Neutral ops in TensorFlow: one function an op, each returning a call on tensors and the variables that it reads.

A function gets the node, its parameters by role (numpy, neutral layout) and where the node stands. Maps are NHWC inside,
and a dense layer behind a flatten has its inputs reordered once, at load. What loops over steps is in ``sequence.py``.
"""

from typing import Any, Callable, Dict, NamedTuple, Tuple

import numpy as np
import tensorflow as tf

from harness.core import BuildRequest, Node, Unsupported
from harness.core.ops import OPS
from harness_tensorflow import sequence
from harness_tensorflow.layout import Layout, Shape, Weight, conv_layout, dense_layout, depthwise_layout, image_layout, plain_layout

Params = Dict[str, np.ndarray]

STATISTICS = ("mean", "var")


class Site(NamedTuple):
    """``shape`` is the neutral shape of the node's first input; for a flattened map it is that of the map. ``made`` has the
    variables of the nodes before, by parameter name."""

    shape: Shape
    request: BuildRequest
    made: Dict[str, Weight]


class Lowered(NamedTuple):
    """What a node does to tensors, and its variables by role."""

    call: Callable[..., Any]
    weights: Dict[str, Weight] = {}


def _keep(node: Node, params: Params, site: Site, **layouts: Layout) -> Dict[str, Weight]:
    """Return the node's variables by role, plain where no layout is given. Those of a node that it is tied to are shared."""
    return {
        role: site.made[name] if name in site.made else _weight(role, params[role], layouts.get(role, plain_layout(params[role].shape)))
        for role, name in node.params.items()
    }


def _weight(role: str, array: np.ndarray, layout: Layout) -> Weight:
    return Weight(tf.Variable(layout.inward(array), trainable=role not in STATISTICS), layout)


def _values(weights: Dict[str, Weight]) -> Dict[str, tf.Variable]:
    return {role: weight.variable for role, weight in weights.items()}


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


def attention(node: Node, params: Params, site: Site) -> Lowered:
    weights = _keep(node, params, site, **{role: dense_layout(params[role].shape) for role in ("query", "key")})
    return Lowered(lambda query, memory, length: sequence.attention(query, memory, length, _values(weights)), weights)


def avg_pool2d(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda x: tf.nn.avg_pool2d(x, node.attrs["kernel"], node.attrs["stride"], "VALID"))


def batch_norm(node: Node, params: Params, site: Site) -> Lowered:
    weights = _keep(node, params, site)
    values = _values(weights)
    if site.request.mode == "infer":
        function = _normalise
    elif site.request.precision != "fp64" and len(site.shape) == 3:
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


def bilstm(node: Node, params: Params, site: Site) -> Lowered:
    weights = _recurrent(node, params, site)
    return Lowered(lambda x, length: sequence.bilstm(x, length, _values(weights), site.request), weights)


def _recurrent(node: Node, params: Params, site: Site) -> Dict[str, Weight]:
    return _keep(node, params, site, **{role: dense_layout(array.shape) for role, array in params.items() if array.ndim == 2})


def concat(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda a, b: tf.concat([a, b], -1))


def conv2d(node: Node, params: Params, site: Site) -> Lowered:
    groups = node.attrs["groups"]
    if groups > 1 and params["weight"].shape[1] == 1:
        return _depthwise(node, params, site)
    request = site.request
    if groups > 1 and request.mode == "train" and request.device == "cpu" and request.variant != "xla":
        raise Unsupported(node.op, "TensorFlow has no gradient of grouped convolutions on CPUs outside XLA")
    weights = _keep(node, params, site, weight=conv_layout(params["weight"].shape))
    padding, pads = _windows(node)

    def call(x: tf.Tensor) -> tf.Tensor:
        return _biased(tf.nn.conv2d(_padded(x, pads), weights["weight"].variable, node.attrs["stride"], padding), weights)

    return Lowered(call, weights)


def _depthwise(node: Node, params: Params, site: Site) -> Lowered:
    rows, columns = node.attrs["stride"]
    if rows != columns:
        raise Unsupported(node.op, "TensorFlow's depthwise convolution wants equal strides")
    weights = _keep(node, params, site, weight=depthwise_layout(params["weight"].shape, node.attrs["groups"]))
    padding, pads = _windows(node)

    def call(x: tf.Tensor) -> tf.Tensor:
        return _biased(tf.nn.depthwise_conv2d(_padded(x, pads), weights["weight"].variable, (1, rows, columns, 1), padding), weights)

    return Lowered(call, weights)


def _biased(y: tf.Tensor, weights: Dict[str, Weight]) -> tf.Tensor:
    return tf.nn.bias_add(y, weights["bias"].variable) if "bias" in weights else y


def dense(node: Node, params: Params, site: Site) -> Lowered:
    weights = _keep(node, params, site, weight=dense_layout(params["weight"].shape, site.shape))
    return Lowered(lambda x: _biased(sequence.project(x, weights["weight"].variable), weights), weights)


def dropout(node: Node, params: Params, site: Site) -> Lowered:
    rate = node.attrs["rate"] if site.request.mode == "train" else 0.0
    return Lowered(lambda x: tf.nn.dropout(x, rate) if rate else x)


def embedding(node: Node, params: Params, site: Site) -> Lowered:
    weights = _keep(node, params, site)
    return Lowered(lambda ids: tf.gather(weights["table"].variable, ids), weights)


def flatten(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda x: tf.reshape(x, (x.shape[0], -1)))


def global_avg_pool(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda x: tf.reduce_mean(x, (1, 2)))


def gram(node: Node, params: Params, site: Site) -> Lowered:
    channels, height, width = site.shape

    def call(x: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(x, (x.shape[0], height * width, channels))
        return tf.reshape(tf.matmul(flat, flat, transpose_a=True), (x.shape[0], -1)) / (channels * height * width)

    return Lowered(call)


def lstm(node: Node, params: Params, site: Site) -> Lowered:
    weights = _recurrent(node, params, site)
    return Lowered(lambda x: sequence.lstm(x, _values(weights), site.request), weights)


def max_pool2d(node: Node, params: Params, site: Site) -> Lowered:
    pads = OPS["max_pool2d"].full_pads(node.attrs, site.shape)
    kernel, stride = node.attrs["kernel"], node.attrs["stride"]
    # XLA refuses an explicit pad list; the smallest number as padding never wins.
    return Lowered(lambda x: tf.nn.max_pool2d(_padded(x, pads, x.dtype.min), kernel, stride, "VALID"))


def mul(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(tf.multiply)


def relu(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(tf.nn.relu)


def sequence_cross_entropy(node: Node, params: Params, site: Site) -> Lowered:
    smoothing = node.attrs["smoothing"]

    def call(logits: tf.Tensor, labels: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        batch, steps, classes = logits.shape
        wanted = tf.one_hot(labels, classes, 1 - smoothing + smoothing / classes, smoothing / classes, dtype=logits.dtype)
        cost = tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
        return tf.reduce_sum(cost * tf.sequence_mask(length, steps, cost.dtype)) / batch

    return Lowered(call)


def sigmoid_cross_entropy(node: Node, params: Params, site: Site) -> Lowered:
    def call(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(labels, logits.dtype), logits[:, 0]))

    return Lowered(call)


def softmax_cross_entropy(node: Node, params: Params, site: Site) -> Lowered:
    return Lowered(lambda logits, labels: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)))


def squared_error(node: Node, params: Params, site: Site) -> Lowered:
    weight = node.attrs["weight"]
    return Lowered(lambda x, target: weight * tf.reduce_mean(tf.math.squared_difference(x, target)))


def variable(node: Node, params: Params, site: Site) -> Lowered:
    shape = params["value"].shape
    weights = _keep(node, params, site, value=image_layout(shape) if len(shape) == 3 else plain_layout(shape))
    return Lowered(lambda: weights["value"].variable[tf.newaxis], weights)
