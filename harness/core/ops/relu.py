import numpy as np

from harness.core.ops.base import Op


class Relu(Op):
    """max(x, 0); the gradient at exactly 0 is 0."""

    name = "relu"

    def infer_shape(self, attrs, shapes):
        return shapes[0]

    def forward(self, node, attrs, xs, params, run):
        x = xs[0]
        size = np.abs(x)
        run.relu_margin = min(run.relu_margin, float(size.min() / max(size.max(), 1e-300)))
        return np.maximum(x, 0), x > 0

    def backward(self, attrs, saved, grad):
        return [grad * saved], {}
