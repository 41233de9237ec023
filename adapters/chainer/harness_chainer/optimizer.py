"""The neutral optimizers as Chainer's."""

import math
from typing import Any

import chainer

from harness.core import Optimizer, Unsupported


class Adam(chainer.optimizers.Adam):
    """Chainer's Adam, whose epsilon stands beside the uncorrected root: what is asked for is brought there in each step."""

    def __init__(self, wanted: Optimizer) -> None:
        super().__init__(alpha=wanted.lr, beta1=wanted.beta1, beta2=wanted.beta2)
        self.epsilon = wanted.epsilon

    def update(self, *args: Any, **kwargs: Any) -> None:
        self.eps = self.epsilon * math.sqrt(1 - self.beta2 ** (self.t + 1))  # self.t is the number of steps made
        super().update(*args, **kwargs)


def make(wanted: Optimizer, model: chainer.Link) -> chainer.Optimizer:
    """Return an optimizer of ``model``."""
    if wanted.name == "adam":
        optimizer = Adam(wanted)
    elif wanted.name == "sgd":
        optimizer = chainer.optimizers.MomentumSGD(wanted.lr, wanted.momentum)
    else:
        raise Unsupported("optimizer", "the Chainer adapter has sgd and adam, not %s" % wanted.name)
    optimizer.setup(model)
    if wanted.clip_norm:
        optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(wanted.clip_norm))
    return optimizer
