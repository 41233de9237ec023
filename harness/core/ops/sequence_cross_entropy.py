import numpy as np

from harness.core.ops.base import Op


class SequenceCrossEntropy(Op):
    """Label-smoothed cross-entropy summed over each sample's first ``length`` positions, divided by the batch.

    A position costs ``(1 - smoothing) * -log p[label] + smoothing * mean(-log p)``, p being softmax(logits) over the last axis.
    """

    name = "sequence_cross_entropy"
    inputs = ("logits", "labels", "length")
    attrs = ("smoothing",)

    def infer_shape(self, attrs, shapes):
        logits, labels, length = shapes
        if len(logits) != 2 or labels != logits[:1] or length != ():
            raise ValueError("sequence_cross_entropy: wants logits (T, V), labels (T,) and length (), got %s, %s and %s" % tuple(shapes))
        return ()

    def forward(self, node, attrs, xs, params, run):
        logits, labels, length = xs
        smoothing = attrs["smoothing"]
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        wanted = np.take_along_axis(log_p, labels[..., None].astype("int64"), axis=-1)[..., 0]
        cost = -(1 - smoothing) * wanted - smoothing * log_p.mean(axis=-1)
        counted = np.arange(logits.shape[1]) < length[:, None]
        return (cost * counted).sum(axis=1).mean(), (log_p, labels, counted, smoothing)

    def backward(self, attrs, saved, grad):
        log_p, labels, counted, smoothing = saved
        logits_grad = np.exp(log_p) - smoothing / log_p.shape[-1]
        samples, positions = np.ogrid[: labels.shape[0], : labels.shape[1]]
        logits_grad[samples, positions, labels] -= 1 - smoothing
        return [logits_grad * counted[..., None] * (grad / len(log_p)), None, None], {}
