"""Neutral ops in MXNet: one function an op, each returning the symbol of its result.

A function gets the node, the symbols of its inputs, those of its parameters by role and whether the graph is to train.
"""

from typing import Any, Dict, List

import mxnet as mx

from harness.core import Node, Unsupported

Symbol = Any  # mxnet carries no types
Symbols = Dict[str, Symbol]


def _symmetric(node: Node) -> Any:
    top, left, bottom, right = node.attrs["pads"]
    if (top, left) != (bottom, right):
        raise Unsupported(node.op, "padding that differs between two sides is not lowered")
    return (top, left)


def add(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.elemwise_add(*inputs, name=node.name)


def batch_norm(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.BatchNorm(
        inputs[0],
        params["gamma"],
        params["beta"],
        params["mean"],
        params["var"],
        eps=node.attrs["epsilon"],
        momentum=1 - node.attrs["momentum"],  # MXNet's is the share of the old value that stays
        fix_gamma=False,  # by default gamma is taken to be 1
        use_global_stats=not train,
        name=node.name,
    )


def conv2d(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
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


def dense(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    bias = node.attrs["bias"]
    return mx.sym.FullyConnected(inputs[0], num_hidden=node.attrs["units"], no_bias=not bias, flatten=False, name=node.name, **params)


def dropout(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.Dropout(inputs[0], p=node.attrs["rate"], name=node.name)


def flatten(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.Flatten(inputs[0], name=node.name)


def global_avg_pool(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.Flatten(mx.sym.Pooling(inputs[0], global_pool=True, kernel=(1, 1), pool_type="avg"), name=node.name)


def max_pool2d(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.Pooling(
        inputs[0],
        kernel=node.attrs["kernel"],
        stride=node.attrs["stride"],
        pad=_symmetric(node),
        pool_type="max",
        pooling_convention="full" if node.attrs["ceil"] else "valid",
        name=node.name,
    )


def relu(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    return mx.sym.Activation(inputs[0], act_type="relu", name=node.name)


def softmax_cross_entropy(node: Node, inputs: List[Symbol], params: Symbols, train: bool) -> Symbol:
    logits, labels = inputs
    return mx.sym.negative(mx.sym.mean(mx.sym.pick(mx.sym.log_softmax(logits, axis=-1), labels, axis=-1)), name=node.name)
