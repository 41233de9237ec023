import numpy as np

from harness.core.ops.base import Op
from harness.core.ops.windows import out_size, padded, scatter, windows


class MaxPool2d(Op):
    """Maximum over windows; padding never wins. ``ceil`` keeps a last partial window (Caffe), else it is dropped.

    Where several elements of a window are equal, the gradient goes to the first in row order.
    """

    name = "max_pool2d"
    attrs = ("kernel", "stride", "pads", "ceil")

    def infer_shape(self, attrs, shapes):
        channels, height, width = shapes[0]
        top, left, bottom, right = attrs["pads"]
        rows = out_size(self.name, height, attrs["kernel"][0], attrs["stride"][0], top, bottom, attrs["ceil"])
        columns = out_size(self.name, width, attrs["kernel"][1], attrs["stride"][1], left, right, attrs["ceil"])
        return (channels, rows, columns)

    def full_pads(self, attrs, shape):
        """Return the pads with the overhang of a partial last window added at the bottom and right.

        ``shape`` is (C, H, W). Adapters whose framework has no ceil mode pad by this and pool with floor.
        """
        _, rows, columns = self.infer_shape(attrs, [shape])
        top, left, bottom, right = attrs["pads"]
        over_rows = (rows - 1) * attrs["stride"][0] + attrs["kernel"][0] - shape[1] - top - bottom
        over_columns = (columns - 1) * attrs["stride"][1] + attrs["kernel"][1] - shape[2] - left - right
        return (top, left, bottom + max(0, over_rows), right + max(0, over_columns))

    def forward(self, node, attrs, xs, params, run):
        x = xs[0]
        out = self.infer_shape(attrs, [x.shape[1:]])
        pads = self.full_pads(attrs, x.shape[1:])
        patches = windows(padded(x, pads, -np.inf), attrs["kernel"], attrs["stride"], out[1:])
        flat = patches.transpose(0, 1, 4, 5, 2, 3).reshape((len(x),) + out + (-1,))
        winner = flat.argmax(axis=-1)
        y = np.take_along_axis(flat, winner[..., None], axis=-1)[..., 0]
        return y, (x.shape, winner, pads)

    def backward(self, attrs, saved, grad):
        shape, winner, pads = saved
        kernel = tuple(attrs["kernel"])
        grads = np.zeros(grad.shape + (kernel[0] * kernel[1],), dtype=grad.dtype)
        np.put_along_axis(grads, winner[..., None], grad[..., None], axis=-1)
        grads = grads.reshape(grad.shape + kernel).transpose(0, 1, 4, 5, 2, 3)
        return [scatter(grads, shape, attrs["stride"], pads)], {}
