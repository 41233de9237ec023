"""Neutral ops in Chainer: one function an op, each returning the link or function that does it.

A function gets the node and its parameters by role (numpy, neutral layout). Links take their precision from
``chainer.config.dtype``, and whether they train from ``chainer.config.train`` at each call.
"""

import operator
from functools import partial
from typing import Any, Callable, Dict

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

from harness.core import Node, Unsupported
from harness_chainer import sequence

Params = Dict[str, np.ndarray]


def _symmetric(node: Node) -> Any:
    top, left, bottom, right = node.attrs["pads"]
    if (top, left) != (bottom, right):
        raise Unsupported(node.op, "padding that differs between two sides is not lowered")
    return (top, left)


def _flat(x: Any) -> Any:
    return F.reshape(x, (len(x), -1))


def _mean_of_map(x: Any) -> Any:
    return _flat(F.average_pooling_2d(x, x.shape[2:]))


def _side_by_side(a: Any, b: Any) -> Any:
    return F.concat((a, b), axis=-1)


def _binary(logits: Any, labels: np.ndarray) -> Any:
    return F.sigmoid_cross_entropy(logits, labels[:, None])


class _Dense(L.Linear):
    """Works on the last axis; ``L.Linear`` takes all axes but the first for one, unless told at each call."""

    def forward(self, x: Any) -> Any:
        return super().forward(x, n_batch_axes=x.ndim - 1)


def add(node: Node, params: Params) -> Callable[..., Any]:
    return F.add


def attention(node: Node, params: Params) -> Callable[..., Any]:
    return sequence.Attention(**params)


def avg_pool2d(node: Node, params: Params) -> Callable[..., Any]:
    return partial(F.average_pooling_2d, ksize=node.attrs["kernel"], stride=node.attrs["stride"])


def batch_norm(node: Node, params: Params) -> Callable[..., Any]:
    return L.BatchNormalization(
        len(params["gamma"]),
        decay=1 - node.attrs["momentum"],  # Chainer's is the share of the old value that stays
        eps=node.attrs["epsilon"],
        initial_gamma=params["gamma"],
        initial_beta=params["beta"],
        initial_avg_mean=params["mean"],
        initial_avg_var=params["var"],
    )


def bilstm(node: Node, params: Params) -> Callable[..., Any]:
    return sequence.Bilstm(params)


def concat(node: Node, params: Params) -> Callable[..., Any]:
    return _side_by_side


def conv2d(node: Node, params: Params) -> Callable[..., Any]:
    filters, channels = params["weight"].shape[:2]
    groups = node.attrs["groups"]
    return L.Convolution2D(
        channels * groups,
        filters,
        node.attrs["kernel"],
        node.attrs["stride"],
        _symmetric(node),
        nobias=not node.attrs["bias"],
        initialW=params["weight"],
        initial_bias=params.get("bias"),
        groups=groups,
    )


def dense(node: Node, params: Params) -> Callable[..., Any]:
    units, inputs = params["weight"].shape
    return _Dense(inputs, units, not node.attrs["bias"], params["weight"], params.get("bias"))


def dropout(node: Node, params: Params) -> Callable[..., Any]:
    return partial(F.dropout, ratio=node.attrs["rate"])


def embedding(node: Node, params: Params) -> Callable[..., Any]:
    return L.EmbedID(node.attrs["rows"], node.attrs["width"], params["table"])


def flatten(node: Node, params: Params) -> Callable[..., Any]:
    return _flat


def global_avg_pool(node: Node, params: Params) -> Callable[..., Any]:
    return _mean_of_map


def _gram(x: Any) -> Any:
    flat = F.reshape(x, x.shape[:2] + (-1,))
    return _flat(F.matmul(flat, flat, transb=True)) / (flat.shape[1] * flat.shape[2])


def gram(node: Node, params: Params) -> Callable[..., Any]:
    return _gram


def lstm(node: Node, params: Params) -> Callable[..., Any]:
    return sequence.Lstm(params)


def max_pool2d(node: Node, params: Params) -> Callable[..., Any]:
    kernel, stride, pads, ceil = node.attrs["kernel"], node.attrs["stride"], _symmetric(node), node.attrs["ceil"]
    # Chainer keeps every partial window. Within this bound none starts in the trailing pad, where ours would drop it.
    if ceil and any(s + p > k for k, s, p in zip(kernel, stride, pads)):
        raise Unsupported(node.op, "in ceil mode Chainer keeps windows that lie in the padding alone")
    return partial(F.max_pooling_2d, ksize=kernel, stride=stride, pad=pads, cover_all=ceil)  # which is True by default


def mul(node: Node, params: Params) -> Callable[..., Any]:
    return operator.mul


def relu(node: Node, params: Params) -> Callable[..., Any]:
    return F.relu


def sequence_cross_entropy(node: Node, params: Params) -> Callable[..., Any]:
    return partial(sequence.cross_entropy, smoothing=node.attrs["smoothing"])


def sigmoid_cross_entropy(node: Node, params: Params) -> Callable[..., Any]:
    return _binary


def softmax_cross_entropy(node: Node, params: Params) -> Callable[..., Any]:
    return F.softmax_cross_entropy


def squared_error(node: Node, params: Params) -> Callable[..., Any]:
    weight = node.attrs["weight"]
    return lambda x, target: weight * F.mean_squared_error(x, target)


class Variable(chainer.Link):
    def __init__(self, value: np.ndarray) -> None:
        super().__init__()
        with self.init_scope():
            self.value = chainer.Parameter(value)

    def forward(self) -> Any:
        return F.expand_dims(self.value, 0)


def variable(node: Node, params: Params) -> Callable[..., Any]:
    return Variable(params["value"])
