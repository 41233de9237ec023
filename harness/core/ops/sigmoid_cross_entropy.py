import numpy as np

from harness.core.ops.base import Op


class SigmoidCrossEntropy(Op):
    """Mean over the batch of -log sigmoid(logit) where the label is 1 and -log(1 - sigmoid(logit)) where it is 0."""

    name = "sigmoid_cross_entropy"
    inputs = ("logits", "labels")

    def infer_shape(self, attrs, shapes):
        if shapes[0] != (1,) or shapes[1] != ():
            raise ValueError("sigmoid_cross_entropy: wants logits (1,) and labels (), got %s and %s" % (shapes[0], shapes[1]))
        return ()

    def forward(self, node, attrs, xs, params, run):
        z, y = xs[0][:, 0], xs[1].astype(xs[0].dtype)
        loss = (np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))).mean()  # the same, without overflow
        return loss, (z, y)

    def backward(self, attrs, saved, grad):
        z, y = saved
        sigmoid = 0.5 * (1 + np.tanh(0.5 * z))
        return [((sigmoid - y) * (grad / len(z)))[:, None], None], {}
