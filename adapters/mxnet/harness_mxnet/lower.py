"""Neutral ops in MXNet: one function an op, each returning the symbol of its result.

A function gets the node, the symbols of its inputs, those of its parameters by role (as ``sequence.packs`` has them) and
what else it may want to know.
"""

from typing import Any, List

import mxnet as mx

from harness.core import Node, Unsupported
from harness_mxnet import sequence
from harness_mxnet.symbols import Setting, Symbol, Symbols


def _symmetric(node: Node) -> Any:
    top, left, bottom, right = node.attrs["pads"]
    if (top, left) != (bottom, right):
        raise Unsupported(node.op, "padding that differs between two sides is not lowered")
    return (top, left)


def add(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.elemwise_add(*inputs, name=node.name)


def attention(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return sequence.attention(node, inputs, params, setting)


def avg_pool2d(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Pooling(inputs[0], kernel=node.attrs["kernel"], stride=node.attrs["stride"], pool_type="avg", name=node.name)


def batch_norm(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.BatchNorm(
        inputs[0],
        params["gamma"],
        params["beta"],
        params["mean"],
        params["var"],
        eps=node.attrs["epsilon"],
        momentum=1 - node.attrs["momentum"],  # MXNet's is the share of the old value that stays
        fix_gamma=False,  # by default gamma is taken to be 1
        use_global_stats=not setting.train,
        name=node.name,
    )


def bilstm(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return sequence.bilstm(node, inputs, params, setting)


def concat(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.concat(*inputs, dim=len(node.shape), name=node.name)


def conv2d(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Convolution(
        inputs[0],
        kernel=node.attrs["kernel"],
        stride=node.attrs["stride"],
        pad=_symmetric(node),
        num_filter=node.attrs["filters"],
        num_group=node.attrs["groups"],
        no_bias=not node.attrs["bias"],
        name=node.name,
        **params,
    )


def dense(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    bias = node.attrs["bias"]
    return mx.sym.FullyConnected(inputs[0], num_hidden=node.attrs["units"], no_bias=not bias, flatten=False, name=node.name, **params)


def dropout(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Dropout(inputs[0], p=node.attrs["rate"], name=node.name)


def embedding(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    rows, width = node.attrs["rows"], node.attrs["width"]
    return mx.sym.Embedding(inputs[0], params["table"], input_dim=rows, output_dim=width, dtype=setting.dtype, name=node.name)


def flatten(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Flatten(inputs[0], name=node.name)


def global_avg_pool(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Flatten(mx.sym.Pooling(inputs[0], global_pool=True, kernel=(1, 1), pool_type="avg"), name=node.name)


def gram(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    channels, height, width = setting.shapes[node.inputs[0]]
    flat = mx.sym.reshape(inputs[0], shape=(0, 0, -1))
    return mx.sym.Flatten(mx.sym.batch_dot(flat, flat, transpose_b=True)) / (channels * height * width)


def lstm(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return sequence.lstm(node, inputs, params, setting)


def max_pool2d(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Pooling(
        inputs[0],
        kernel=node.attrs["kernel"],
        stride=node.attrs["stride"],
        pad=_symmetric(node),
        pool_type="max",
        pooling_convention="full" if node.attrs["ceil"] else "valid",
        name=node.name,
    )


def mul(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.elemwise_mul(*inputs, name=node.name)


def relu(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.Activation(inputs[0], act_type="relu", name=node.name)


def sequence_cross_entropy(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    logits, labels, length = inputs
    smoothing, classes = node.attrs["smoothing"], setting.shapes[node.inputs[0]][-1]
    log_p = mx.sym.log_softmax(logits, axis=-1)
    wanted = mx.sym.pick(log_p, labels, axis=-1, keepdims=True)
    # A product with ones takes a fiftieth of the time of mx.sym.mean.
    total = mx.sym.FullyConnected(log_p, mx.sym.ones((1, classes), dtype=setting.dtype), num_hidden=1, no_bias=True, flatten=False)
    cost = (smoothing - 1) * wanted - (smoothing / classes) * total
    return mx.sym.sum(mx.sym.SequenceMask(cost, length, use_sequence_length=True)) / setting.batch


def sigmoid_cross_entropy(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    """-log sigmoid(z) is softrelu(-z). Gluon's own loss, with relu(z) and abs(z), has a wrong gradient at 0."""
    logits, labels = inputs
    sign = 1 - 2 * mx.sym.cast(labels, setting.dtype)
    return mx.sym.mean(mx.sym.Activation(mx.sym.elemwise_mul(sign, mx.sym.reshape(logits, shape=(-1,))), act_type="softrelu"))


def softmax_cross_entropy(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    logits, labels = inputs
    return mx.sym.negative(mx.sym.mean(mx.sym.pick(mx.sym.log_softmax(logits, axis=-1), labels, axis=-1)), name=node.name)


def squared_error(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return node.attrs["weight"] * mx.sym.mean(mx.sym.square(mx.sym.elemwise_sub(*inputs)))


def variable(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return mx.sym.expand_dims(params["value"], axis=0, name=node.name)
