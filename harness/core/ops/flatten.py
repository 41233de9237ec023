from harness.core.ops.base import Op


class Flatten(Op):
    """(C, H, W) to (C*H*W), C slowest."""

    name = "flatten"

    def infer_shape(self, attrs, shapes):
        size = 1
        for length in shapes[0]:
            size *= length
        return (size,)

    def forward(self, node, attrs, xs, params, run):
        return xs[0].reshape(len(xs[0]), -1), xs[0].shape

    def backward(self, attrs, saved, grad):
        return [grad.reshape(saved)], {}
