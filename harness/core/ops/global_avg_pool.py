import numpy as np

from harness.core.ops.base import Op


class GlobalAvgPool(Op):
    """Mean over the whole map: (C, H, W) to (C)."""

    name = "global_avg_pool"

    def infer_shape(self, attrs, shapes):
        return shapes[0][:1]

    def forward(self, node, attrs, xs, params, run):
        return xs[0].mean(axis=(2, 3)), xs[0].shape

    def backward(self, attrs, saved, grad):
        return [np.broadcast_to(grad[:, :, None, None] / (saved[2] * saved[3]), saved)], {}
