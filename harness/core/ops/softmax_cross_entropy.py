import numpy as np

from harness.core.ops.base import Op


class SoftmaxCrossEntropy(Op):
    """Mean over the batch of -log softmax(logits)[label]; labels are class numbers."""

    name = "softmax_cross_entropy"
    inputs = ("logits", "labels")

    def infer_shape(self, attrs, shapes):
        return ()

    def forward(self, node, attrs, xs, params, run):
        logits, labels = xs
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        rows = np.arange(len(labels))
        loss = -(shifted - log_sum)[rows, labels].mean()
        return loss, (np.exp(shifted - log_sum), labels)

    def backward(self, attrs, saved, grad):
        probabilities, labels = saved
        logits_grad = probabilities.copy()
        logits_grad[np.arange(len(labels)), labels] -= 1
        return [logits_grad * (grad / len(labels)), None], {}
