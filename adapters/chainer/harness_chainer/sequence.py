"""What works on sequences: LSTM layers, attention and the loss of a translation, of Chainer's functions.

An LSTM is a loop over its steps, as ``F.n_step_lstm`` is on CPUs; but that one also arranges the weights anew at every step.
``F.lstm`` wants the rows of a projection unit by unit, four gates each, so the weights are kept in that order.
"""

from typing import Any, Dict, Optional

import chainer
import chainer.functions as F
import numpy as np

Params = Dict[str, np.ndarray]
ROLES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def by_unit(rows: np.ndarray) -> np.ndarray:
    """Return rows that stand gate by gate, in the neutral order i, f, g, o, unit by unit in Chainer's order g, i, f, o."""
    i, f, g, o = np.split(rows, 4)
    return np.stack([g, i, f, o], axis=1).reshape(rows.shape)


def by_gate(rows: np.ndarray) -> np.ndarray:
    """Undo ``by_unit``."""
    g, i, f, o = np.moveaxis(rows.reshape((-1, 4) + rows.shape[1:]), 1, 0)
    return np.concatenate([i, f, g, o])


class Recurrent(chainer.Link):
    """The parameters of LSTM directions by the neutral names, unit by unit."""

    def __init__(self, params: Params) -> None:
        super().__init__()
        with self.init_scope():
            for role, array in params.items():
                setattr(self, role, chainer.Parameter(by_unit(array).astype(chainer.config.dtype, copy=False)))

    def scan(self, x: Any, steps: int, suffix: str = "") -> Any:
        """Run one direction; rows of ``x`` and of the result are steps, and within them samples."""
        weight_ih, weight_hh, bias_ih, bias_hh = [getattr(self, role + suffix) for role in ROLES]
        xp = chainer.backend.get_array_module(x)
        # Added one by one: the gradient of a sum would be one array for both biases, and clipping scales in place, so twice.
        projected = F.linear(x, weight_ih, bias_ih) + bias_hh
        c: Any = xp.zeros((len(x) // steps, weight_hh.shape[1]), x.dtype)
        h: Optional[Any] = None
        outputs = []
        for gates in F.split_axis(projected, steps, axis=0):
            c, h = F.lstm(c, gates if h is None else gates + F.linear(h, weight_hh))
            outputs.append(h)
        return F.concat(outputs, axis=0)


class Lstm(Recurrent):
    def forward(self, x: Any) -> Any:
        batch, steps = x.shape[:2]
        rows = F.reshape(F.transpose(x, (1, 0, 2)), (steps * batch, -1))
        return F.transpose(F.reshape(self.scan(rows, steps), (steps, batch, -1)), (1, 0, 2))


class Bilstm(Recurrent):
    def forward(self, x: Any, length: np.ndarray) -> Any:
        batch, steps = x.shape[:2]
        xp = chainer.backend.get_array_module(length)
        step = xp.arange(steps)[:, None]
        there = step < length
        rows = F.reshape(x, (batch * steps, -1))
        directions = []
        for suffix, source in (("", step), ("_reverse", xp.where(there, length - 1 - step, step))):
            order = (xp.arange(batch) * steps + source).ravel()
            y = self.scan(F.permutate(rows, order), steps, suffix)
            directions.append(F.permutate(y, order, inv=True))
        y = F.reshape(F.concat(directions, axis=1), (batch, steps, -1))
        return y * there.T[..., None].astype(y.dtype)


class Attention(chainer.Link):
    """Normalised Bahdanau attention. ``F.normalize`` would add an epsilon to the norm."""

    def __init__(self, query: np.ndarray, key: np.ndarray, vector: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> None:
        super().__init__()
        with self.init_scope():
            for name, array in (("query", query), ("key", key), ("vector", vector), ("scale", scale), ("b", bias)):
                setattr(self, name, chainer.Parameter(np.array(array, chainer.config.dtype)))

    def forward(self, query: Any, memory: Any, length: np.ndarray) -> Any:
        q = F.linear(query, self.query, n_batch_axes=2)
        k = F.linear(memory, self.key, self.b, n_batch_axes=2)
        squashed = F.tanh(F.expand_dims(q, 2) + F.expand_dims(k, 1))
        norm = F.sqrt(F.sum(F.square(self.vector), keepdims=True))  # of one axis: with iDeep's arrays, a number ends the process
        direction = self.vector * (self.scale / norm)
        scores = F.linear(squashed, F.expand_dims(direction, 0), n_batch_axes=3)
        xp = chainer.backend.get_array_module(length)
        shut = xp.where(xp.arange(memory.shape[1]) < length[:, None, None], 0, -np.inf).astype(scores.dtype)
        shares = F.softmax(F.reshape(scores, scores.shape[:3]) + shut, axis=2)
        return F.matmul(shares, memory)


def cross_entropy(logits: Any, labels: np.ndarray, length: np.ndarray, smoothing: float) -> Any:
    """Return the label-smoothed cross-entropy, summed over the steps that count and divided by the batch."""
    batch, steps, words = logits.shape
    log_p = F.log_softmax(F.reshape(logits, (batch * steps, words)))
    cost = (smoothing - 1) * F.select_item(log_p, labels.ravel()) - smoothing / words * F.sum(log_p, axis=1)
    share = (chainer.backend.get_array_module(length).arange(steps) < length[:, None]).astype(logits.dtype) / batch
    return F.sum(cost * share.ravel())
