import numpy as np

from harness.core.ops.base import Op
from harness.core.ops.windows import out_size, scatter, windows


class AvgPool2d(Op):
    """Mean over windows, without padding; a last partial window is dropped."""

    name = "avg_pool2d"
    attrs = ("kernel", "stride")

    def infer_shape(self, attrs, shapes):
        channels, height, width = shapes[0]
        rows = out_size(self.name, height, attrs["kernel"][0], attrs["stride"][0], 0, 0)
        return (channels, rows, out_size(self.name, width, attrs["kernel"][1], attrs["stride"][1], 0, 0))

    def forward(self, node, attrs, xs, params, run):
        x = xs[0]
        out = self.infer_shape(attrs, [x.shape[1:]])
        return windows(x, attrs["kernel"], attrs["stride"], out[1:]).mean(axis=(2, 3)), x.shape

    def backward(self, attrs, saved, grad):
        rows, columns = attrs["kernel"]
        shape = grad.shape[:2] + (rows, columns) + grad.shape[2:]
        spread = np.broadcast_to((grad / (rows * columns))[:, :, None, None], shape)
        return [scatter(spread, saved, attrs["stride"], (0, 0, 0, 0))], {}
