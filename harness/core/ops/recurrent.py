"""One direction of an LSTM in numpy, shared by the ops ``lstm`` and ``bilstm``.

Gates stand in the order input, forget, cell, output; with sigma the logistic function and * elementwise::

    i, f, g, o = split(x[t] W_ih^T + b_ih + h[t-1] W_hh^T + b_hh)
    c[t] = sigma(f) * c[t-1] + sigma(i) * tanh(g)
    h[t] = sigma(o) * tanh(c[t])

with h and c zero before the first step (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000).
"""

from typing import Any, List, Tuple

import numpy as np

from harness.core.ops.base import Arrays, ParamDef


def params(inputs: int, units: int, suffix: str = "") -> List[ParamDef]:
    """The four parameters of one direction. Two biases, as cuDNN has them, although their sum is what acts."""
    return [
        ParamDef("weight_ih" + suffix, (4 * units, inputs)),
        ParamDef("weight_hh" + suffix, (4 * units, units)),
        ParamDef("bias_ih" + suffix, (4 * units,)),
        ParamDef("bias_hh" + suffix, (4 * units,)),
    ]


def macs(steps: int, inputs: int, units: int) -> int:
    return steps * 4 * units * (inputs + units)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


def forward(x: np.ndarray, params: Arrays, suffix: str = "") -> Tuple[np.ndarray, Any]:
    """Return h of all steps (N, T, H) for x (N, T, I), and what ``backward`` wants to remember."""
    weight_ih, weight_hh = params["weight_ih" + suffix], params["weight_hh" + suffix]
    projected = x @ weight_ih.T + params["bias_ih" + suffix] + params["bias_hh" + suffix]
    h = c = np.zeros((len(x), weight_hh.shape[1]), x.dtype)
    outputs, tape = [], []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(projected[:, t] + h @ weight_hh.T, 4, axis=1)
        i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
        tape.append((i, f, g, o, h, c))
        c = f * c + i * g
        h = o * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs, axis=1), (x, weight_ih, weight_hh, tape, suffix)


def backward(saved: Any, grad: np.ndarray) -> Tuple[np.ndarray, Arrays]:
    """Return the gradient of x and those of the four parameters."""
    x, weight_ih, weight_hh, tape, suffix = saved
    gates_grad = np.zeros(x.shape[:2] + (len(weight_ih),), x.dtype)
    hh_grad = np.zeros_like(weight_hh)
    dh = dc = np.zeros_like(tape[0][4])
    for t in reversed(range(len(tape))):
        i, f, g, o, h_before, c_before = tape[t]
        squashed = np.tanh(f * c_before + i * g)
        dh = dh + grad[:, t]
        dc = dc + dh * o * (1 - squashed * squashed)
        dz = [dc * g * i * (1 - i), dc * c_before * f * (1 - f), dc * i * (1 - g * g), dh * squashed * o * (1 - o)]
        gates_grad[:, t] = np.concatenate(dz, axis=1)
        hh_grad += gates_grad[:, t].T @ h_before
        dh, dc = gates_grad[:, t] @ weight_hh, dc * f
    bias_grad = gates_grad.sum(axis=(0, 1))
    ih_grad = np.tensordot(gates_grad, x, axes=([0, 1], [0, 1]))
    grads = {"weight_ih": ih_grad, "weight_hh": hh_grad, "bias_ih": bias_grad, "bias_hh": bias_grad}
    return gates_grad @ weight_ih, {role + suffix: array for role, array in grads.items()}
