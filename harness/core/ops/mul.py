from harness.core.ops.base import Op


class Mul(Op):
    """Elementwise product of two tensors of one shape."""

    name = "mul"
    inputs = ("a", "b")

    def infer_shape(self, attrs, shapes):
        if shapes[0] != shapes[1]:
            raise ValueError("mul: shapes %s and %s differ" % (shapes[0], shapes[1]))
        return shapes[0]

    def forward(self, node, attrs, xs, params, run):
        return xs[0] * xs[1], xs

    def backward(self, attrs, saved, grad):
        a, b = saved
        return [grad * b, grad * a], {}
