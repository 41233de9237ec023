import numpy as np

from harness.core.ops.base import Op, ParamDef
from harness.core.ops.windows import out_size, padded, scatter, windows


class Conv2d(Op):
    """2-D cross-correlation of (C, H, W) with weights (filters, C/groups, kh, kw).

    ``kernel`` and ``stride`` are (rows, columns), ``pads`` (top, left, bottom, right); groups = C is depthwise.
    """

    name = "conv2d"
    attrs = ("filters", "kernel", "stride", "pads", "groups", "bias")

    def infer_shape(self, attrs, shapes):
        channels, height, width = shapes[0]
        if channels % attrs["groups"] or attrs["filters"] % attrs["groups"]:
            raise ValueError("conv2d: %d groups do not divide %d channels" % (attrs["groups"], channels))
        top, left, bottom, right = attrs["pads"]
        rows = out_size(self.name, height, attrs["kernel"][0], attrs["stride"][0], top, bottom)
        columns = out_size(self.name, width, attrs["kernel"][1], attrs["stride"][1], left, right)
        return (attrs["filters"], rows, columns)

    def params(self, attrs, shapes):
        kernel = tuple(attrs["kernel"])
        channels = shapes[0][0] // attrs["groups"]
        weight = ParamDef("weight", (attrs["filters"], channels) + kernel, fan_in=channels * kernel[0] * kernel[1])
        return [weight, ParamDef("bias", (attrs["filters"],))] if attrs["bias"] else [weight]

    def macs(self, attrs, shapes, out):
        return shapes[0][0] // attrs["groups"] * attrs["kernel"][0] * attrs["kernel"][1] * out[0] * out[1] * out[2]

    def forward(self, node, attrs, xs, params, run):
        x = xs[0]
        out = self.infer_shape(attrs, [x.shape[1:]])
        groups = attrs["groups"]
        patches = windows(padded(x, attrs["pads"]), attrs["kernel"], attrs["stride"], out[1:])
        columns = patches.transpose(1, 2, 3, 0, 4, 5).reshape(groups, -1, len(x) * out[1] * out[2])
        weight = params["weight"].reshape(groups, out[0] // groups, -1)
        y = np.matmul(weight, columns).reshape((out[0], len(x)) + out[1:]).transpose(1, 0, 2, 3)
        if attrs["bias"]:
            y = y + params["bias"][:, None, None]
        return y, (x.shape, columns if run.train else None, weight, params["weight"].shape)

    def backward(self, attrs, saved, grad):
        shape, columns, weight, weight_shape = saved
        groups = attrs["groups"]
        flat = grad.transpose(1, 0, 2, 3).reshape(groups, weight.shape[1], -1)
        grads = {"weight": np.matmul(flat, columns.transpose(0, 2, 1)).reshape(weight_shape)}
        if attrs["bias"]:
            grads["bias"] = grad.sum(axis=(0, 2, 3))
        patches = np.matmul(weight.transpose(0, 2, 1), flat)
        patches = patches.reshape((shape[1],) + tuple(attrs["kernel"]) + (shape[0],) + grad.shape[2:])
        return [scatter(patches.transpose(3, 0, 1, 2, 4, 5), shape, attrs["stride"], attrs["pads"])], grads
