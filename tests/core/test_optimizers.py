"""The optimisers against the formulas, number by number."""

import math

import numpy as np
import pytest

from harness.core import Optimizer
from harness.core.optimizers import State, update

GRADIENTS = [0.5, -2.0, 0.25, 0.0, 1.0]
ADAM = Optimizer("adam", lr=0.1, beta1=0.8, beta2=0.9, epsilon=0.01)


def walk(optimizer, gradients, start=1.0):
    """The values of one weight that meets these gradients."""
    weights, state, values = {"w": np.array([start])}, State(), []
    for gradient in gradients:
        weights, state = update(optimizer, weights, {"w": np.array([gradient])}, state)
        values.append(float(weights["w"][0]))
    return values


def test_adam_follows_the_paper():
    w, m, v, expected = 1.0, 0.0, 0.0, []
    for t, g in enumerate(GRADIENTS, start=1):
        m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
        w -= 0.1 * (m / (1 - 0.8**t)) / (math.sqrt(v / (1 - 0.9**t)) + 0.01)
        expected.append(w)
    np.testing.assert_allclose(walk(ADAM, GRADIENTS), expected, rtol=1e-13)


def test_sgd_keeps_its_velocity():
    w, v, expected = 1.0, 0.0, []
    for g in GRADIENTS:
        v = 0.9 * v + g
        w -= 0.1 * v
        expected.append(w)
    np.testing.assert_allclose(walk(Optimizer("sgd", lr=0.1, momentum=0.9), GRADIENTS), expected, rtol=1e-13)


def test_a_row_without_a_gradient_still_moves_by_its_moments():
    _, moved, still_moving = walk(ADAM, [1.0, 0.0, 0.0])
    assert moved != still_moving


@pytest.mark.parametrize("limit, scale", [(0.0, 1), (10.0, 1), (5.0, 1), (2.5, 0.5)])
def test_gradients_are_scaled_down_to_the_limit_as_one_vector(limit, scale):
    grads = {"a": np.array([3.0]), "b": np.array([[0.0, 4.0]])}  # of norm 5
    weights = {name: np.zeros_like(grad) for name, grad in grads.items()}
    after, _ = update(Optimizer("sgd", lr=1.0, clip_norm=limit), weights, grads, State())
    assert {name: array.tolist() for name, array in after.items()} == {"a": [-3 * scale], "b": [[0, -4 * scale]]}


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_what_has_no_gradient_stays_and_float32_stays_float32(name):
    weights = {"w": np.ones(2, "float32"), "mean": np.ones(2, "float32")}
    optimizer = Optimizer(name, clip_norm=0.5)
    after, state = update(optimizer, weights, {"w": np.ones(2, "float32")}, State())
    after, state = update(optimizer, after, {"w": np.ones(2, "float32")}, state)
    assert after["mean"] is weights["mean"]
    arrays = [after["w"], state.first["w"]] + list(state.second.values())
    assert {str(array.dtype) for array in arrays} == {"float32"}
    assert state.steps == 2 and set(state.first) == {"w"}


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_weights_stay_within_bounds(name):
    optimizer = Optimizer(name, lr=0.5, bounds=(-1.0, 1.0))
    after, _ = update(optimizer, {"w": np.array([0.9, -0.9, 3.0]), "still": np.array([9.0])}, {"w": np.array([-4.0, 4.0, 0.0])}, State())
    assert after["w"].tolist() == [1.0, -1.0, 1.0] and after["still"].tolist() == [9.0]
