from harness.core.ops import recurrent
from harness.core.ops.base import Op


class Lstm(Op):
    """One LSTM layer from the first step to the last, states zero before it; equations in ``recurrent.py``."""

    name = "lstm"
    attrs = ("units",)

    def infer_shape(self, attrs, shapes):
        if len(shapes[0]) != 2:
            raise ValueError("lstm: wants (steps, features), got shape %s" % (shapes[0],))
        return (shapes[0][0], attrs["units"])

    def params(self, attrs, shapes):
        return recurrent.params(shapes[0][1], attrs["units"])

    def macs(self, attrs, shapes, out):
        return recurrent.macs(shapes[0][0], shapes[0][1], attrs["units"])

    def forward(self, node, attrs, xs, params, run):
        return recurrent.forward(xs[0], params)

    def backward(self, attrs, saved, grad):
        x_grad, grads = recurrent.backward(saved, grad)
        return [x_grad], grads
