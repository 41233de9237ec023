"""What Gluon's trainer is given, and clipping by the global norm.

MXNet's update kernels do the work; nothing here waits for the device.
"""

from typing import Any, List, Tuple

import mxnet as mx

from harness.core import Optimizer

Array = Any  # mxnet carries no types


def _decay(beta: float, t: int) -> float:
    """Return the decay with which step ``t`` turns one corrected moment into the next."""
    return beta * (1 - beta ** (t - 1)) / (1 - beta**t)


class Adam(mx.optimizer.Optimizer):  # type: ignore[misc]
    """Adam with epsilon outside the corrected root, which MXNet's own has inside, by MXNet's own kernel.

    The state holds corrected moments: ``m[t] / (1 - beta^t)`` is again a running mean of gradients, of decay
    ``beta * (1 - beta^(t-1)) / (1 - beta^t)``. So the kernel, which knows no correction, gets another decay in each step,
    and rate and epsilon are what they are.
    """

    def __init__(self, beta1: float, beta2: float, epsilon: float, **settings: Any) -> None:
        super().__init__(**settings)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: int, weight: Array) -> Tuple[Array, Array]:
        return mx.nd.zeros_like(weight), mx.nd.zeros_like(weight)

    def update(self, index: int, weight: Array, grad: Array, state: Tuple[Array, Array]) -> None:
        self._update_count(index)
        step = self._index_update_count[index]
        decays = {"beta1": _decay(self.beta1, step), "beta2": _decay(self.beta2, step)}
        mx.nd.adam_update(weight, grad, *state, out=weight, lr=self._get_lr(index), epsilon=self.epsilon, **decays)


def updater(wanted: Optimizer) -> mx.optimizer.Optimizer:
    if wanted.name == "adam":
        return Adam(wanted.beta1, wanted.beta2, wanted.epsilon, learning_rate=wanted.lr)
    return mx.optimizer.SGD(momentum=wanted.momentum, learning_rate=wanted.lr, wd=0.0)


def clip(grads: List[Array], limit: float) -> None:
    """Scale ``grads``, all of them vectors, down to a common norm of ``limit`` where theirs exceeds it.

    The factor never leaves the device. A triangular matrix of one element is how MXNet multiplies an array in place by a
    number that it computed: a third of the time of ``broadcast_mul``.
    """
    norm = mx.nd.sqrt(mx.nd.add_n(*[mx.nd.dot(grad, grad) for grad in grads]))
    factor = (limit / mx.nd.maximum(norm, limit)).reshape((1, 1))  # exactly 1 below the limit
    for grad in grads:
        row = grad.reshape((1, -1))
        mx.nd.linalg.trmm(factor, row, out=row)
