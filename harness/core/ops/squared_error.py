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
        weight = difference.dtype.type(attrs["weight"])  # old numpy makes float64 of a float32 number and a Python one
        return weight * np.square(difference).mean(), difference

    def backward(self, attrs, saved, grad):
        return [saved * saved.dtype.type(grad * 2 * attrs["weight"] / saved.size), None], {}
