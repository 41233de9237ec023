"""The optimisers as TensorFlow's fused updates, one an array. Nothing leaves the step."""

from typing import Any, Callable, List

import tensorflow as tf

from harness.core import Optimizer, Unsupported

Update = Callable[[List[Any]], None]


def make(optimizer: Optimizer, variables: List[tf.Variable]) -> Update:
    """Return what applies a list of gradients to ``variables``."""
    rules = {"sgd": _sgd, "adam": _adam}
    if optimizer.name not in rules:
        raise Unsupported("optimizer", "the TensorFlow adapter has sgd and adam, not '%s'" % optimizer.name)
    apply = rules[optimizer.name](optimizer, variables)

    def update(gradients: List[Any]) -> None:
        # An embedding's gradient comes as rows, each as often as it was looked up: their squares are not the table's.
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        apply(_clipped(dense, optimizer.clip_norm) if optimizer.clip_norm else dense)
        if optimizer.bounds:
            for variable in variables:
                variable.assign(tf.clip_by_value(variable, *optimizer.bounds))

    return update


def _clipped(gradients: List[tf.Tensor], limit: float) -> List[tf.Tensor]:
    """tf.clip_by_global_norm without its detour, in which what is left alone is multiplied by limit * (1 / limit)."""
    norm = tf.sqrt(2 * tf.add_n([tf.nn.l2_loss(gradient) for gradient in gradients]))
    scale = tf.minimum(limit / norm, 1)
    return [gradient * scale for gradient in gradients]


def _slots(variables: List[tf.Variable]) -> List[tf.Variable]:
    return [tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables]


def _sgd(optimizer: Optimizer, variables: List[tf.Variable]) -> Update:
    velocities = _slots(variables)

    def apply(gradients: List[tf.Tensor]) -> None:
        for variable, velocity, gradient in zip(variables, velocities, gradients):
            lr, momentum = (tf.constant(value, variable.dtype) for value in (optimizer.lr, optimizer.momentum))
            tf.raw_ops.ResourceApplyMomentum(var=variable.handle, accum=velocity.handle, lr=lr, grad=gradient, momentum=momentum)

    return apply


def _adam(optimizer: Optimizer, variables: List[tf.Variable]) -> Update:
    """The kernel's epsilon stands beside the uncorrected root, so it is given one that shrinks alike. Corrections are made
    here in float64 and handed over within the learning rate; the kernel's own, in float32, would lose 1 - 0.999."""
    firsts, seconds = _slots(variables), _slots(variables)
    count = tf.Variable(0, trainable=False, dtype=tf.float64)

    def apply(gradients: List[tf.Tensor]) -> None:
        t = count.assign_add(1)
        root = tf.sqrt(1 - optimizer.beta2**t)
        rate, epsilon = optimizer.lr * root / (1 - optimizer.beta1**t), optimizer.epsilon * root
        for variable, first, second, gradient in zip(variables, firsts, seconds, gradients):
            dtype = variable.dtype
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first.handle,
                v=second.handle,
                beta1_power=tf.zeros((), dtype),
                beta2_power=tf.zeros((), dtype),
                lr=tf.cast(rate, dtype),
                beta1=tf.constant(optimizer.beta1, dtype),
                beta2=tf.constant(optimizer.beta2, dtype),
                epsilon=tf.cast(epsilon, dtype),
                grad=gradient,
            )

    return apply
