import numpy as np

from harness.core.ops.base import Op, ParamDef


class Dense(Op):
    """y = x W^T + b over the last axis, with W as (units, inputs)."""

    name = "dense"
    attrs = ("units", "bias")

    def infer_shape(self, attrs, shapes):
        if len(shapes[0]) not in (1, 2):
            raise ValueError("dense: wants (features,) or (steps, features), got shape %s" % (shapes[0],))
        return shapes[0][:-1] + (attrs["units"],)

    def params(self, attrs, shapes):
        fan_in = shapes[0][-1]
        weight = ParamDef("weight", (attrs["units"], fan_in), fan_in=fan_in)
        return [weight, ParamDef("bias", (attrs["units"],))] if attrs["bias"] else [weight]

    def macs(self, attrs, shapes, out):
        steps = 1 if len(out) == 1 else out[0]
        return steps * shapes[0][-1] * attrs["units"]

    def forward(self, node, attrs, xs, params, run):
        y = xs[0] @ params["weight"].T
        if attrs["bias"]:
            y = y + params["bias"]
        return y, (xs[0], params["weight"])

    def backward(self, attrs, saved, grad):
        x, weight = saved
        leading = list(range(grad.ndim - 1))
        grads = {"weight": np.tensordot(grad, x, axes=(leading, leading))}
        if attrs["bias"]:
            grads["bias"] = grad.sum(axis=tuple(leading))
        return [grad @ weight], grads
