import numpy as np

from harness.core.ops.base import Op, ParamDef


class Attention(Op):
    """Normalised Bahdanau attention of each query step over the first ``length`` steps of ``memory``.

    With q = query W_q^T and k = memory W_k^T, the score of query step t and memory step s is
    ``scale * vector / |vector| . tanh(q[t] + k[s] + bias)``; softmax over s; the result is the weighted mean of ``memory``
    (Bahdanau et al., arXiv 1409.0473; normalised as in Salimans and Kingma, arXiv 1602.07868).
    """

    name = "attention"
    inputs = ("query", "memory", "length")
    attrs = ("units",)

    def infer_shape(self, attrs, shapes):
        query, memory, length = shapes
        if len(query) != 2 or len(memory) != 2 or length != ():
            raise ValueError("attention: wants (steps, features) twice and length (), got %s, %s and %s" % tuple(shapes))
        return (query[0], memory[1])

    def params(self, attrs, shapes):
        units = attrs["units"]
        return [
            ParamDef("query", (units, shapes[0][1])),
            ParamDef("key", (units, shapes[1][1])),
            ParamDef("vector", (units,)),
            ParamDef("scale", (1,), fan_in=units),
            ParamDef("bias", (units,)),
        ]

    def macs(self, attrs, shapes, out):
        (queries, width), (keys, features) = shapes[:2]
        return attrs["units"] * (queries * width + keys * features) + queries * keys * (attrs["units"] + features)

    def forward(self, node, attrs, xs, params, run):
        query, memory, length = xs
        direction = params["vector"] / np.sqrt((params["vector"] ** 2).sum())
        q, k = query @ params["query"].T, memory @ params["key"].T
        squashed = np.tanh(q[:, :, None] + k[:, None] + params["bias"])
        scores = squashed @ (params["scale"] * direction)
        scores = np.where(np.arange(memory.shape[1]) < length[:, None, None], scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares = shares / shares.sum(axis=2, keepdims=True)
        return shares @ memory, (query, memory, params, direction, squashed, shares)

    def backward(self, attrs, saved, grad):
        query, memory, params, direction, squashed, shares = saved
        shares_grad = grad @ memory.transpose(0, 2, 1)
        scores_grad = shares * (shares_grad - (shares_grad * shares).sum(axis=2, keepdims=True))
        weighted = np.einsum("bqk,bqku->u", scores_grad, squashed)  # gradient of scale * direction
        inner = scores_grad[..., None] * (params["scale"] * direction) * (1 - squashed * squashed)
        q_grad, k_grad = inner.sum(axis=2), inner.sum(axis=1)
        length = np.sqrt((params["vector"] ** 2).sum())
        grads = {
            "query": np.tensordot(q_grad, query, axes=([0, 1], [0, 1])),
            "key": np.tensordot(k_grad, memory, axes=([0, 1], [0, 1])),
            "vector": params["scale"] * (weighted - direction * (direction @ weighted)) / length,
            "scale": np.array([direction @ weighted]),
            "bias": inner.sum(axis=(0, 1, 2)),
        }
        memory_grad = shares.transpose(0, 2, 1) @ grad + k_grad @ params["key"]
        return [q_grad @ params["query"], memory_grad, None], grads
