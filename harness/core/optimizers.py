"""The definition of the optimisers in numpy."""

from typing import Dict, NamedTuple

import numpy as np

from harness.core.hookspecs import Optimizer

Arrays = Dict[str, np.ndarray]


class State(NamedTuple):
    """What an optimiser remembers after ``steps`` steps: velocity (SGD), or first and second moments (Adam)."""

    steps: int = 0
    first: Arrays = {}
    second: Arrays = {}


START = State()


class Update(NamedTuple):
    weights: Arrays
    state: State


def _clipped(grads: Arrays, limit: float) -> Arrays:
    norm = float(np.sqrt(sum(float(np.square(grad).sum()) for grad in grads.values())))
    return {name: grad * (limit / norm) for name, grad in grads.items()} if norm > limit else grads


def update(optimizer: Optimizer, weights: Arrays, grads: Arrays, state: State) -> Update:
    """Return all ``weights`` after one step; those without a gradient are what they were."""
    if optimizer.clip_norm:
        grads = _clipped(grads, optimizer.clip_norm)
    rule = _adam if optimizer.name == "adam" else _sgd
    after, state = rule(optimizer, weights, grads, state)
    if optimizer.bounds:
        after.update((name, np.clip(after[name], *optimizer.bounds)) for name in grads)
    return Update(after, state)


def _sgd(optimizer: Optimizer, weights: Arrays, grads: Arrays, state: State) -> Update:
    after, velocity = dict(weights), {}
    for name, grad in grads.items():
        velocity[name] = optimizer.momentum * state.first[name] + grad if state.steps else grad
        after[name] = weights[name] - optimizer.lr * velocity[name]
    return Update(after, State(state.steps + 1, velocity))


def _adam(optimizer: Optimizer, weights: Arrays, grads: Arrays, state: State) -> Update:
    beta1, beta2, t = optimizer.beta1, optimizer.beta2, state.steps + 1
    after, first, second = dict(weights), {}, {}
    for name, grad in grads.items():
        first[name] = (1 - beta1) * grad + (beta1 * state.first[name] if state.steps else 0)
        second[name] = (1 - beta2) * grad * grad + (beta2 * state.second[name] if state.steps else 0)
        mean, power = first[name] / (1 - beta1**t), second[name] / (1 - beta2**t)
        after[name] = weights[name] - optimizer.lr * mean / (np.sqrt(power) + optimizer.epsilon)
    return Update(after, State(t, first, second))
