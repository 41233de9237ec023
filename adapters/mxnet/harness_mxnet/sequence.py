"""Sequences: their layout, and the ops that take several operators each.

Steps come first and samples second, as MXNet's RNN operator wants them, from the staged batch to the outputs. That operator
takes all weights of a layer as one vector. The vector is the parameter here, so that no step puts it together or takes it
apart; the neutral parameters are its parts.
"""

from typing import Dict, List, Tuple

import mxnet as mx

from harness.core import Node, TensorSpec
from harness_mxnet.symbols import Setting, Symbol, Symbols

ROLES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # in the operator's order
DIRECTIONS = {"lstm": ("",), "bilstm": ("", "_reverse")}


def steps_first(spec: TensorSpec) -> bool:
    """Whether the input is a sequence, of numbers or of vectors."""
    return len(spec.shape) == 2 or (len(spec.shape) == 1 and spec.kind == "index")


def packs(node: Node) -> Dict[str, Tuple[str, ...]]:
    """Return by role which neutral parameters each parameter of the lowered node holds, one after the other."""
    if node.op not in DIRECTIONS:
        return {role: (name,) for role, name in node.params.items()}
    return {"weights" + suffix: tuple(node.params[role + suffix] for role in ROLES) for suffix in DIRECTIONS[node.op]}


def _layer(node: Node, x: Symbol, weights: Symbol, setting: Setting) -> Symbol:
    units = node.attrs["units"]
    zeros = mx.sym.zeros((1, setting.batch, units), dtype=setting.dtype)
    return mx.sym.RNN(x, weights, zeros, zeros, mode="lstm", num_layers=1, state_size=units)


def lstm(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    return _layer(node, inputs[0], params["weights"], setting)


def bilstm(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    """Two layers, since RNN with ``use_sequence_length`` ignores the lengths on CPUs."""
    x, length = inputs
    lengths = {"sequence_length": length, "use_sequence_length": True}
    onward = _layer(node, x, params["weights"], setting)
    back = _layer(node, mx.sym.SequenceReverse(x, **lengths), params["weights_reverse"], setting)
    both = mx.sym.concat(onward, mx.sym.SequenceReverse(back, **lengths), dim=2)
    return mx.sym.SequenceMask(both, value=0, **lengths)


def _pairs(q: Symbol, k: Symbol, queries: int, keys: int) -> Symbol:
    """Return q[t] + k[s] for all t and s as (queries * keys, batch, units).

    ``broadcast_add`` is as fast, but its gradient, which sums over an axis, takes ten times as long as that of ``take``.
    """
    query_of_pair = mx.sym.arange(queries, repeat=keys, dtype="int32")
    key_of_pair = mx.sym.arange(queries * keys, dtype="int32") % keys
    return mx.sym.elemwise_add(mx.sym.take(q, query_of_pair), mx.sym.take(k, key_of_pair))


def attention(node: Node, inputs: List[Symbol], params: Symbols, setting: Setting) -> Symbol:
    query, memory, length = inputs
    units = node.attrs["units"]
    queries, keys = (setting.shapes[name][0] for name in node.inputs[:2])
    q = mx.sym.FullyConnected(query, params["query"], params["bias"], num_hidden=units, flatten=False)
    k = mx.sym.FullyConnected(memory, params["key"], num_hidden=units, no_bias=True, flatten=False)
    squashed = mx.sym.Activation(_pairs(q, k, queries, keys), act_type="tanh")
    size = mx.sym.sqrt(mx.sym.sum(mx.sym.square(params["vector"]), keepdims=True))
    vector = mx.sym.broadcast_mul(params["vector"], mx.sym.broadcast_div(params["scale"], size))
    scores = mx.sym.FullyConnected(squashed, mx.sym.expand_dims(vector, axis=0), num_hidden=1, no_bias=True, flatten=False)
    scores = mx.sym.transpose(mx.sym.reshape(scores, shape=(queries, keys, -1)), axes=(2, 0, 1))
    lengths = mx.sym.broadcast_axis(mx.sym.expand_dims(length, axis=1), axis=1, size=queries)
    shares = mx.sym.softmax(scores, lengths, axis=2, use_length=True)
    return mx.sym.swapaxes(mx.sym.batch_dot(shares, mx.sym.swapaxes(memory, dim1=0, dim2=1)), dim1=0, dim2=1)
