import numpy as np

from harness.core.ops.base import Op


class SquaredError(Op):
    """``weight`` times the mean of (x - target)^2 over all elements, the batch included."""

    name = "squared_error"
    inputs = ("x", "target")
    attrs = ("weight",)

    def infer_shape(self, attrs, shapes):
        if shapes[0] != shapes[1]:
            raise ValueError("squared_error: shapes %s and %s differ" % (shapes[0], shapes[1]))
        return ()

    def forward(self, node, attrs, xs, params, run):
        difference = xs[0] - xs[1]
        return attrs["weight"] * np.square(difference).mean(), difference

    def backward(self, attrs, saved, grad):
        return [saved * (grad * 2 * attrs["weight"] / saved.size), None], {}
