"""Neutral ops in Paddle: one function an op, each returning the layer or function that does it.

A function gets the node and its parameters by role (numpy, neutral layout). Layers are made in Paddle's default dtype.
"""

from typing import Any, Callable, Dict

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from harness.core import Node, Unsupported
from harness_paddlepaddle import sequence

Params = Dict[str, np.ndarray]


def _symmetric(node: Node) -> Any:
    top, left, bottom, right = node.attrs["pads"]
    if (top, left) != (bottom, right):
        raise Unsupported(node.op, "padding that differs between two sides is not lowered")
    return (top, left)


def _check_ceil(node: Node) -> None:
    """Refuse windows that may lie in the trailing pad alone: Paddle's ceil mode keeps them, the neutral op does not."""
    pads = node.attrs["pads"][2:]
    if any(pad + stride > kernel for pad, stride, kernel in zip(pads, node.attrs["stride"], node.attrs["kernel"])):
        raise Unsupported(node.op, "in ceil mode, pad and stride that add up to more than the kernel are not lowered")


def _cross_entropy(logits: Any, labels: Any) -> Any:
    """Paddle's own cross-entropy cuts shifted logits at -64 on CPUs, so its loss stays below 71 where it should not.

    Gradients are the same to rounding, and so is the loss of a network that learns.
    """
    picked = paddle.index_sample(logits, paddle.unsqueeze(labels, 1))
    return paddle.mean(paddle.logsumexp(logits, axis=1, keepdim=True) - picked)


def _concat(a: Any, b: Any) -> Any:
    return paddle.concat([a, b], axis=-1)


def _sigmoid_cross_entropy(logits: Any, labels: Any) -> Any:
    return F.binary_cross_entropy_with_logits(logits, labels.unsqueeze(1).astype(logits.dtype))


def add(node: Node, params: Params) -> Callable[..., Any]:
    return paddle.add


def attention(node: Node, params: Params) -> nn.Layer:
    return sequence.Attention(node.attrs["units"], params["query"].shape[1], params["key"].shape[1])


def avg_pool2d(node: Node, params: Params) -> Callable[..., Any]:
    """Sums, divided apart: in the gradient of its own means Paddle keeps the divisor in float32, whatever the precision."""
    rows, columns = node.attrs["kernel"]
    sums = nn.AvgPool2D(node.attrs["kernel"], node.attrs["stride"], divisor_override=1)
    return lambda x: sums(x) / (rows * columns)


def batch_norm(node: Node, params: Params) -> nn.Layer:
    kept = 1 - node.attrs["momentum"]  # Paddle's momentum is the share of the old value that stays
    return nn.BatchNorm2D(len(params["gamma"]), momentum=kept, epsilon=node.attrs["epsilon"])


def bilstm(node: Node, params: Params) -> nn.Layer:
    return sequence.Recurrent(params["weight_ih"].shape[1], node.attrs["units"], "bidirect")


def concat(node: Node, params: Params) -> Callable[..., Any]:
    return _concat


def conv2d(node: Node, params: Params) -> nn.Layer:
    filters, channels = params["weight"].shape[:2]
    groups = node.attrs["groups"]
    return nn.Conv2D(
        channels * groups,
        filters,
        node.attrs["kernel"],
        node.attrs["stride"],
        _symmetric(node),
        groups=groups,
        bias_attr=None if node.attrs["bias"] else False,  # None is Paddle's default bias
    )


def dense(node: Node, params: Params) -> nn.Layer:
    units, inputs = params["weight"].shape
    return nn.Linear(inputs, units, bias_attr=None if node.attrs["bias"] else False)


def dropout(node: Node, params: Params) -> nn.Layer:
    return nn.Dropout(node.attrs["rate"])


def embedding(node: Node, params: Params) -> nn.Layer:
    return nn.Embedding(node.attrs["rows"], node.attrs["width"])


def flatten(node: Node, params: Params) -> nn.Layer:
    return nn.Flatten()


def global_avg_pool(node: Node, params: Params) -> nn.Layer:
    return nn.Sequential(nn.AdaptiveAvgPool2D(1), nn.Flatten())


def _gram(x: Any) -> Any:
    flat = paddle.flatten(x, 2)
    return paddle.flatten(paddle.matmul(flat, flat, transpose_y=True), 1) / (flat.shape[1] * flat.shape[2])


def gram(node: Node, params: Params) -> Callable[..., Any]:
    return _gram


def lstm(node: Node, params: Params) -> nn.Layer:
    return sequence.Recurrent(params["weight_ih"].shape[1], node.attrs["units"], "forward")


def max_pool2d(node: Node, params: Params) -> nn.Layer:
    if node.attrs["ceil"]:
        _check_ceil(node)
    return nn.MaxPool2D(node.attrs["kernel"], node.attrs["stride"], _symmetric(node), ceil_mode=node.attrs["ceil"])


def mul(node: Node, params: Params) -> Callable[..., Any]:
    return paddle.multiply


def relu(node: Node, params: Params) -> nn.Layer:
    return nn.ReLU()


def sequence_cross_entropy(node: Node, params: Params) -> nn.Layer:
    return sequence.SequenceCrossEntropy(node.attrs["smoothing"])


def sigmoid_cross_entropy(node: Node, params: Params) -> Callable[..., Any]:
    return _sigmoid_cross_entropy


def softmax_cross_entropy(node: Node, params: Params) -> Callable[..., Any]:
    return _cross_entropy


def squared_error(node: Node, params: Params) -> Callable[..., Any]:
    weight = node.attrs["weight"]
    return lambda x, target: weight * F.mse_loss(x, target)


class Variable(nn.Layer):
    def __init__(self, shape: Any) -> None:
        super().__init__()
        self.value = self.create_parameter(shape)

    def forward(self) -> Any:
        return paddle.unsqueeze(self.value, 0)


def variable(node: Node, params: Params) -> nn.Layer:
    return Variable(params["value"].shape)
