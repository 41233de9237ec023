"""Neutral ops in CNTK: one function an op, each returning the function (in CNTK's sense) of its result.

A function gets the node, the functions of its inputs, the tensors of its parameters by role and the samples of a step.
Shapes are per sample, as in the neutral graph. Whether batch normalisation and dropout train is decided by the step:
a trainer's forward pass does, an evaluation does not.
"""

import math
from typing import Any, Dict, List, Tuple

import cntk as C

from harness.core import Node
from harness.core.ops import OPS
from harness_cntk import sequence

Function = Any  # cntk carries no types
Tensors = Dict[str, Any]


def _is_same(kernel: Tuple[int, ...], pads: Tuple[int, ...], shape: Tuple[int, ...]) -> bool:
    """Whether CNTK's automatic padding is this one: (kernel - 1) / 2 before, and behind as much as the windows need."""
    half = tuple((k - 1) // 2 for k in kernel)
    return tuple(pads) == half + half and all(k % 2 for k in kernel) and all(s >= k for s, k in zip(shape[1:], kernel))


def _padded(x: Function, pads: Tuple[int, ...], value: float = 0.0) -> Function:
    top, left, bottom, right = pads
    return C.pad(x, [(0, 0), (top, bottom), (left, right)], mode=C.ops.CONSTANT_PAD, constant_value=value) if any(pads) else x


def add(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.plus(*inputs)


def attention(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    queries, memory, length = inputs
    return sequence.attention(queries, memory, length, params)


def avg_pool2d(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.pooling(inputs[0], C.AVG_POOLING, node.attrs["kernel"], node.attrs["stride"], auto_padding=[False])


def batch_norm(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.batch_normalization(
        inputs[0],
        params["gamma"],
        params["beta"],
        params["mean"],
        params["var"],  # the variance, though the argument is called the inverse of a deviation
        spatial=True,
        normalization_time_constant=time_constant(node.attrs["momentum"], batch),
        epsilon=node.attrs["epsilon"],
        use_cudnn_engine=False,
        running_count=C.Constant(1, dtype=params["mean"].dtype),  # at 0 the first batch would replace the statistics
    )


def time_constant(momentum: float, batch: int) -> float:
    """Return in samples, as CNTK counts it, after how long exp(-batch / constant) of the old statistics stays."""
    return -batch / math.log(1 - momentum)


def bilstm(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    x, length = inputs
    return sequence.bilstm(x, length, params)


def concat(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.splice(*inputs, axis=-1)


def conv2d(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    x, kernel, pads = inputs[0], node.attrs["kernel"], node.attrs["pads"]
    same = any(pads) and _is_same(kernel, pads, x.shape)
    y = C.convolution(
        params["weight"],
        x if same else _padded(x, pads),
        strides=(1,) + tuple(node.attrs["stride"]),
        auto_padding=[False, same, same],
        groups=node.attrs["groups"],
    )
    return C.plus(y, C.reshape(params["bias"], (-1, 1, 1))) if node.attrs["bias"] else y


def dense(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    y = C.times_transpose(inputs[0], params["weight"])
    return C.plus(y, params["bias"]) if node.attrs["bias"] else y


def dropout(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.dropout(inputs[0], node.attrs["rate"])


def embedding(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.gather(params["table"], inputs[0])


def flatten(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.reshape(inputs[0], (-1,))


def global_avg_pool(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.reshape(C.reduce_mean(inputs[0], axis=[1, 2]), (-1,))


def gram(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    channels, height, width = inputs[0].shape
    flat = C.reshape(inputs[0], (channels, height * width))
    return C.reshape(C.times_transpose(flat, flat), (-1,)) / (channels * height * width)


def lstm(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return sequence.lstm(inputs[0], params)


def max_pool2d(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    x, attrs = inputs[0], node.attrs
    kernel, stride, pads, ceil = attrs["kernel"], attrs["stride"], attrs["pads"], attrs["ceil"]
    same = any(pads) and not ceil and _is_same(kernel, pads, x.shape)
    # CNTK's ceil mode is ours without padding, and where no window can start behind the map.
    native_ceil = ceil and not any(pads) and all(k >= s for k, s in zip(kernel, stride))
    if not same and not native_ceil:
        x = _padded(x, OPS["max_pool2d"].full_pads(attrs, x.shape), value=-1e30)
    return C.pooling(x, C.MAX_POOLING, kernel, stride, auto_padding=[same, same], ceil_out_dim=native_ceil)


def mul(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.element_times(*inputs)


def relu(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return C.relu(inputs[0])


def sequence_cross_entropy(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    logits, labels, length = inputs
    return sequence.cross_entropy(logits, labels, length, node.attrs["smoothing"])


def sigmoid_cross_entropy(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    logits, labels = inputs
    z = C.reshape(logits, ())
    return C.relu(z) - z * labels + C.softplus(C.negate(C.abs(z)))


def softmax_cross_entropy(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    """Return the loss of each sample: the trainer takes the mean, of a loss as of gradients."""
    logits, labels = inputs
    return C.cross_entropy_with_softmax(logits, C.one_hot(labels, logits.shape[0]))


def squared_error(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    return node.attrs["weight"] * C.reshape(C.reduce_mean(C.square(C.minus(*inputs))), ())


def variable(node: Node, inputs: List[Function], params: Tensors, batch: int) -> Function:
    """Without an axis of samples, a convolution of it crashes the process."""
    return C.reconcile_dynamic_axes(params["value"], inputs[0])
