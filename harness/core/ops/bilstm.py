import numpy as np

from harness.core.ops import recurrent
from harness.core.ops.base import Op


class Bilstm(Op):
    """Two LSTM layers over each sample's first ``length`` steps, one in each direction, their outputs side by side.

    The backward one starts at the sample's own last step. Outputs past the length are zero.
    """

    name = "bilstm"
    inputs = ("x", "length")
    attrs = ("units",)

    def infer_shape(self, attrs, shapes):
        if len(shapes[0]) != 2 or shapes[1] != ():
            raise ValueError("bilstm: wants x (steps, features) and length (), got %s and %s" % (shapes[0], shapes[1]))
        return (shapes[0][0], 2 * attrs["units"])

    def params(self, attrs, shapes):
        both = [recurrent.params(shapes[0][1], attrs["units"], suffix) for suffix in ("", "_reverse")]
        return both[0] + both[1]

    def macs(self, attrs, shapes, out):
        return 2 * recurrent.macs(shapes[0][0], shapes[0][1], attrs["units"])

    def forward(self, node, attrs, xs, params, run):
        x, length = xs
        there = np.arange(x.shape[1]) < length[:, None]
        mirror = np.where(there, length[:, None] - 1 - np.arange(x.shape[1]), np.arange(x.shape[1]))
        rows = np.arange(len(x))[:, None]
        onward, tape = recurrent.forward(x, params)
        back, back_tape = recurrent.forward(x[rows, mirror], params, "_reverse")
        y = np.concatenate([onward, back[rows, mirror]], axis=2) * there[..., None]
        return y.astype(x.dtype), (tape, back_tape, rows, mirror, there)

    def backward(self, attrs, saved, grad):
        tape, back_tape, rows, mirror, there = saved
        onward, back = np.split(grad * there[..., None], 2, axis=2)
        x_grad, grads = recurrent.backward(tape, onward)
        back_x_grad, back_grads = recurrent.backward(back_tape, back[rows, mirror])  # a mirror is its own inverse
        grads.update(back_grads)
        return [x_grad + back_x_grad[rows, mirror], None], grads
