from harness.core.ops.base import Op, ParamDef


class Dense(Op):
    """y = x W^T + b with W as (units, inputs)."""

    name = "dense"
    attrs = ("units", "bias")

    def infer_shape(self, attrs, shapes):
        if len(shapes[0]) != 1:
            raise ValueError("dense: wants one axis, got shape %s" % (shapes[0],))
        return (attrs["units"],)

    def params(self, attrs, shapes):
        fan_in = shapes[0][0]
        weight = ParamDef("weight", (attrs["units"], fan_in), fan_in=fan_in)
        return [weight, ParamDef("bias", (attrs["units"],))] if attrs["bias"] else [weight]

    def macs(self, attrs, shapes, out):
        return shapes[0][0] * attrs["units"]

    def forward(self, node, attrs, xs, params, run):
        y = xs[0] @ params["weight"].T
        if attrs["bias"]:
            y = y + params["bias"]
        return y, (xs[0], params["weight"])

    def backward(self, attrs, saved, grad):
        x, weight = saved
        grads = {"weight": grad.T @ x}
        if attrs["bias"]:
            grads["bias"] = grad.sum(axis=0)
        return [grad @ weight], grads
