import numpy as np

from harness.core.errors import GeometryError
from harness.core.ops.base import Op, ParamDef


def _channels(vector, ndim):
    return vector.reshape((1, -1) + (1,) * (ndim - 2))


class BatchNorm(Op):
    """Batch normalisation over all axes but the channel.

    Training normalises by the batch's mean and its variance over N; the running statistics move by
    ``running = (1 - momentum) * running + momentum * batch`` with the batch variance over N - 1. That is the stated
    convention; a framework that stores the variance over N says so in ``describe`` and is compared with that instead.
    """

    name = "batch_norm"
    attrs = ("epsilon", "momentum")

    def infer_shape(self, attrs, shapes):
        return shapes[0]

    def params(self, attrs, shapes):
        size = shapes[0][:1]
        return [
            ParamDef("gamma", size),
            ParamDef("beta", size),
            ParamDef("mean", size, trainable=False),
            ParamDef("var", size, trainable=False),
        ]

    def forward(self, node, attrs, xs, params, run):
        x = xs[0]
        if run.train:
            axes = (0,) + tuple(range(2, x.ndim))
            mean, var = x.mean(axis=axes), x.var(axis=axes)
            count = x.size // x.shape[1]
            if count < 2:
                raise GeometryError("batch_norm '%s': one value a channel has no variance; train with more samples or pixels" % node)
            spread = var if run.biased_running_var else var * (count / (count - 1.0))
            for role, value in (("mean", mean), ("var", spread)):
                run.updates[node, role] = (1 - attrs["momentum"]) * params[role] + attrs["momentum"] * value
        else:
            mean, var = params["mean"], params["var"]
        scale = 1 / np.sqrt(var + attrs["epsilon"])
        normal = (x - _channels(mean, x.ndim)) * _channels(scale, x.ndim)
        y = normal * _channels(params["gamma"], x.ndim) + _channels(params["beta"], x.ndim)
        return y, (normal, scale, params["gamma"])

    def backward(self, attrs, saved, grad):
        normal, scale, gamma = saved
        axes = (0,) + tuple(range(2, grad.ndim))
        count = grad.size // grad.shape[1]
        beta_grad = grad.sum(axis=axes)
        gamma_grad = (grad * normal).sum(axis=axes)
        centred = grad - _channels(beta_grad / count, grad.ndim) - normal * _channels(gamma_grad / count, grad.ndim)
        return [centred * _channels(gamma * scale, grad.ndim)], {"gamma": gamma_grad, "beta": beta_grad}
