"""What works on sequences: LSTM layers, attention and the loss of a translation.

A sequence is a static axis of the network, as in the neutral graph; only the recurrence itself runs along one of CNTK's
sequence axes, on which it is a loop of the engine. All sequences have the full length there: past its own, a sample is masked.
"""

from typing import Any, Dict, Optional

import cntk as C
import numpy as np

Function = Any  # cntk carries no types
Tensors = Dict[str, Any]

SHUT = 1e5  # subtracted from a gate it makes its sigmoid 0, not nearly


def _counted(length: Function, steps: int) -> Function:
    """Return 1 for the steps that count and 0 for the others."""
    return C.less(C.Constant(np.arange(steps), dtype=length.dtype), length)


def _scan(x: Function, params: Tensors, suffix: str = "", shut: Optional[Function] = None) -> Function:
    """Run one direction over the sequence ``x``, the backward one where there is a suffix, and return its h.

    ``shut`` holds what is added to the gates of each step. A step whose gates are all shut leaves c and h at zero.
    """
    weight_ih, weight_hh, bias_ih, bias_hh = [params[role + suffix] for role in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    units = weight_hh.shape[1]
    projected = C.times_transpose(x, weight_ih) + (bias_ih + bias_hh)
    if shut is not None:
        projected = projected + shut
    start = C.Constant(0, (units,), dtype=x.dtype)

    @C.Function  # type: ignore[misc]
    def step(h: Function, c: Function, gates: Function) -> Any:
        gates = gates + C.times_transpose(h, weight_hh)
        i, f, g, o = [C.slice(gates, -1, k * units, (k + 1) * units) for k in range(4)]
        c = C.sigmoid(f) * c + C.sigmoid(i) * C.tanh(g)
        return C.sigmoid(o) * C.tanh(c), c

    return C.layers.Recurrence(step, go_backwards=bool(suffix), initial_state=(start, start))(projected)


def _unpacked(x: Function, steps: int) -> Function:
    """Return the sequence ``x`` along a static axis."""
    return C.reshape(C.sequence.unpack(x, 0, no_mask_output=True), (steps,) + x.shape)


def lstm(x: Function, params: Tensors) -> Function:
    return _unpacked(_scan(C.to_sequence(x), params), x.shape[0])


def bilstm(x: Function, length: Function, params: Tensors) -> Function:
    steps = x.shape[0]
    shut = C.reshape(SHUT * (_counted(length, steps) - 1), (steps, 1))
    x = C.to_sequence(x)
    shut = C.to_sequence_like(shut, x)
    return _unpacked(C.splice(*[_scan(x, params, suffix, shut) for suffix in ("", "_reverse")]), steps)


def attention(queries: Function, memory: Function, length: Function, params: Tensors) -> Function:
    """Return the context of each query step: normalised Bahdanau attention."""
    steps, places, units = queries.shape[0], memory.shape[0], params["vector"].shape[0]
    q = C.reshape(C.times_transpose(queries, params["query"]), (steps, 1, units))
    k = C.reshape(C.times_transpose(memory, params["key"]) + params["bias"], (1, places, units))
    direction = params["vector"] * (params["scale"] / C.sqrt(C.reduce_sum(C.square(params["vector"]))))
    scores = C.reshape(C.times_transpose(C.tanh(q + k), C.reshape(direction, (1, units))), (steps, places))
    shares = C.softmax(scores + 1e30 * (_counted(length, places) - 1), axis=-1)
    return C.times(shares, memory)


def cross_entropy(logits: Function, labels: Function, length: Function, smoothing: float) -> Function:
    """Return the label-smoothed cross-entropy of each sample, summed over the steps that count.

    CNTK's own cross-entropy is a log-sum-exp that adds up in pairs, for which it takes a log each: several times as slow.
    """
    steps, words = logits.shape
    shifted = logits - C.stop_gradient(C.reduce_max(logits, axis=-1))
    target = (1 - smoothing) * C.one_hot(labels, words) + smoothing / words
    cost = C.log(C.reduce_sum(C.exp(shifted), axis=-1)) - C.reduce_sum(target * shifted, axis=-1)
    return C.reduce_sum(C.reshape(cost, (steps,)) * _counted(length, steps))
