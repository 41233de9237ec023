from harness.core.ops.base import Op, ParamDef


class Variable(Op):
    """A parameter as a tensor, the one sample of a batch of one: what training an image trains."""

    name = "variable"
    inputs = ()
    attrs = ("shape",)

    def infer_shape(self, attrs, shapes):
        return tuple(attrs["shape"])

    def params(self, attrs, shapes):
        return [ParamDef("value", tuple(attrs["shape"]))]

    def forward(self, node, attrs, xs, params, run):
        return params["value"][None], None

    def backward(self, attrs, saved, grad):
        return [], {"value": grad[0]}
