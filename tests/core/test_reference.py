"""The reference executor against formulas written out by hand: no tape, no shared code."""

import numpy as np
import pytest

from harness.core import GeometryError, GraphBuilder, HarnessError, Optimizer, data, reference
from harness.core.models import MODELS
from harness.core.models.base import with_loss
from harness.core.optimizers import State

from . import tiny

OPTIMIZER = Optimizer(lr=0.1, momentum=0.9)


def regression():
    """Softmax regression: one dense layer."""
    b = GraphBuilder("regression")
    return with_loss(b, b.add("dense", "fc", b.input("x", (4,)), units=3, bias=True))


def normaliser(rate=0.0):
    """Batch normalisation of the input and dropout; the two channels are the logits."""
    b = GraphBuilder("normaliser")
    x = b.add("batch_norm", "bn", b.input("x", (2,)), epsilon=1e-3, momentum=0.25)
    return with_loss(b, b.add("dropout", "drop", x, rate=rate))


def probe(graph, size=5, seed=2):
    return data.weights(graph, seed, "probe", "float64"), data.batch(graph, size, seed, "float64")


def softmax(logits):
    powers = np.exp(logits)
    return powers / powers.sum(axis=1)[:, None]


def closed_form(weights, batch, steps):
    """Losses and weights of softmax regression under SGD with momentum: the gradient is (p - onehot)^T x / n."""
    w, b = weights["fc.weight"].copy(), weights["fc.bias"].copy()
    vw, vb, losses = np.zeros_like(w), np.zeros_like(b), []
    x, onehot = batch["x"], np.eye(3)[batch["labels"]]
    for _ in range(steps):
        p = softmax(x @ w.T + b)
        losses.append(-np.log((p * onehot).sum(axis=1)).mean())
        error = (p - onehot) / len(x)
        vw = 0.9 * vw + error.T @ x
        vb = 0.9 * vb + error.sum(axis=0)
        w, b = w - 0.1 * vw, b - 0.1 * vb
    return losses, {"fc.weight": w, "fc.bias": b}, {"fc.weight": vw, "fc.bias": vb}


@pytest.mark.parametrize("steps", [1, 3])
def test_sgd_with_momentum_on_softmax_regression(steps):
    graph = regression()
    weights, batch = probe(graph)
    losses, expected, speed = closed_form(weights, batch, steps)
    step = reference.Step({}, 0.0, weights, State(), 0.0)
    found = []
    for _ in range(steps):
        step = reference.train_step(graph, step.weights, batch, OPTIMIZER, step.state)
        found.append(step.loss)
    np.testing.assert_allclose(found, losses, rtol=1e-12)
    assert set(step.weights) == set(expected)
    for name in expected:
        np.testing.assert_allclose(step.weights[name], expected[name], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(step.state.first[name], speed[name], rtol=1e-11, atol=1e-13)


def test_a_step_by_hand():
    graph = regression()
    weights = {"fc.weight": np.zeros((3, 4)), "fc.bias": np.zeros(3)}
    batch = {"x": np.array([[3.0, 0.0, 0.0, -6.0]]), "labels": np.array([1])}
    step = reference.train_step(graph, weights, batch, OPTIMIZER)
    assert step.loss == pytest.approx(np.log(3))
    assert step.outputs["fc"].tolist() == [[0, 0, 0]]
    np.testing.assert_allclose(step.weights["fc.bias"], [-0.1 / 3, 0.2 / 3, -0.1 / 3])
    np.testing.assert_allclose(step.weights["fc.weight"], [[-0.1, 0, 0, 0.2], [0.2, 0, 0, -0.4], [-0.1, 0, 0, 0.2]], atol=1e-15)


def test_a_step_leaves_its_arguments_alone():
    graph = tiny.build(9, rate=0.0)
    weights, batch = probe(graph)
    velocity = {name: np.ones_like(array) for name, array in weights.items()}
    before = [{name: array.copy() for name, array in arrays.items()} for arrays in (weights, batch, velocity)]
    reference.train_step(graph, weights, batch, OPTIMIZER, State(1, velocity))
    for arrays, copies in ((weights, before[0]), (batch, before[1]), (velocity, before[2])):
        assert all(np.array_equal(arrays[name], copies[name]) for name in copies)


def test_velocity_is_kept_for_what_is_trained():
    graph = tiny.build(9, rate=0.0)
    step = reference.train_step(graph, *probe(graph), OPTIMIZER)
    assert set(step.state.first) == {name for name, spec in graph.params.items() if spec.trainable}
    assert set(step.weights) == set(graph.params)


def test_the_whole_network_against_finite_differences():
    """The tape of a graph with branches and every op: with lr = 1 and no velocity, the update is the gradient."""
    graph = tiny.build(9, rate=0.0)
    weights, batch = probe(graph)
    after = reference.train_step(graph, weights, batch, Optimizer(lr=1.0)).weights
    for name in ("conv1.weight", "bn1.gamma", "depthwise.weight", "wide.bias", "mean_out.weight"):
        update = weights[name] - after[name]
        place = np.unravel_index(np.abs(update).argmax(), update.shape)
        losses = []
        for shift in (1e-6, -1e-6):
            moved = dict(weights, **{name: weights[name].copy()})
            moved[name][place] += shift
            losses.append(reference.training_loss(graph, moved, batch))
        assert update[place] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-6), name


def test_a_tensor_read_twice_gets_both_gradients():
    b = GraphBuilder("twice")
    x = b.add("dense", "fc", b.input("x", (4,)), units=3, bias=True)
    graph = with_loss(b, b.add("add", "twice", x, x))
    weights, batch = probe(graph)
    step = reference.train_step(graph, weights, batch, Optimizer(lr=1.0))
    error = softmax(2 * (batch["x"] @ weights["fc.weight"].T + weights["fc.bias"])) - np.eye(3)[batch["labels"]]
    np.testing.assert_allclose(weights["fc.bias"] - step.weights["fc.bias"], 2 * error.mean(axis=0), rtol=1e-11)


def test_training_uses_batch_statistics_and_inference_running_ones():
    graph = normaliser()
    weights, batch = probe(graph)
    x, gamma, beta = batch["x"], weights["bn.gamma"], weights["bn.beta"]
    by_batch = gamma * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-3) + beta
    by_running = gamma * (x - weights["bn.mean"]) / np.sqrt(weights["bn.var"] + 1e-3) + beta
    step = reference.train_step(graph, weights, batch, OPTIMIZER)
    np.testing.assert_allclose(step.outputs["drop"], by_batch, rtol=1e-12)
    np.testing.assert_allclose(reference.infer(graph, weights, batch)["drop"], by_running, rtol=1e-12)


@pytest.mark.parametrize("biased, freedom", [(False, 1), (True, 0)], ids=["unbiased", "biased"])
def test_running_statistics_move_by_momentum_in_the_declared_convention(biased, freedom):
    graph = normaliser()
    weights, batch = probe(graph)
    step = reference.train_step(graph, weights, batch, OPTIMIZER, State(), biased)
    x = batch["x"]
    np.testing.assert_allclose(step.weights["bn.mean"], 0.75 * weights["bn.mean"] + 0.25 * x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(step.weights["bn.var"], 0.75 * weights["bn.var"] + 0.25 * x.var(axis=0, ddof=freedom), rtol=1e-12)


def test_training_with_dropout_is_refused():
    graph = normaliser(rate=0.5)
    weights, batch = probe(graph)
    for run in (reference.training_loss, lambda *given: reference.train_step(*given, optimizer=OPTIMIZER)):
        with pytest.raises(HarnessError, match="dropout 'drop' cannot be compared in training"):
            run(graph, weights, batch)


def test_dropout_does_nothing_in_inference():
    weights, batch = probe(normaliser())
    dropping, plain = (reference.infer(normaliser(rate), weights, batch)["drop"] for rate in (0.5, 0.0))
    assert np.array_equal(dropping, plain)


def test_the_loss_alone_is_the_loss_of_a_step():
    graph = tiny.build(9, rate=0.0)
    weights, batch = probe(graph)
    assert reference.training_loss(graph, weights, batch) == reference.train_step(graph, weights, batch, OPTIMIZER).loss


def test_inference_runs_on_the_pruned_graph_and_without_labels():
    graph = tiny.build(9)
    weights, batch = probe(graph)
    del batch["labels"]
    outputs = reference.infer(graph.for_inference(), weights, batch)
    assert {name: array.shape for name, array in outputs.items()} == {"logits": (5, 5)}


def test_an_output_in_the_middle_is_kept():
    b = GraphBuilder("middle")
    middle = b.add("relu", "middle", b.input("x", (3,)))
    end = b.add("relu", "end", middle)
    outputs = reference.infer(b.finish(outputs=(middle, end), loss=""), {}, {"x": np.array([[-1.0, 0.0, 2.0]])})
    assert {name: array.tolist() for name, array in outputs.items()} == {"middle": [[0, 0, 2]], "end": [[0, 0, 2]]}


def test_float32_in_float32_out():
    graph = tiny.build(9, rate=0.0)
    step = reference.train_step(graph, data.weights(graph, 0, "probe"), data.batch(graph, 4, 0), OPTIMIZER)
    assert {str(array.dtype) for arrays in (step.outputs, step.weights, step.state.first) for array in arrays.values()} == {"float32"}


def test_a_step_reports_how_near_a_relu_came_to_zero():
    b = GraphBuilder("margin")
    graph = with_loss(b, b.add("relu", "act", b.input("x", (2,))))
    batch = {"x": np.array([[-4.0, 0.5]]), "labels": np.array([0])}
    assert reference.train_step(graph, {}, batch, OPTIMIZER).relu_margin == 0.125


def test_what_the_loss_does_not_depend_on_has_no_gradient():
    b = GraphBuilder("side")
    x = b.input("x", (3,))
    side = b.add("dense", "side", x, units=2, bias=True)
    logits = b.add("dense", "fc", x, units=2, bias=True)
    loss = b.add("softmax_cross_entropy", "loss", logits, b.input("labels", (), kind="index", high=2))
    graph = b.finish((side, logits), loss)
    weights = data.weights(graph, 0, "probe", "float64")
    step = reference.train_step(graph, weights, data.batch(graph, 4, 0, "float64"), Optimizer())
    assert set(step.state.first) == {"fc.weight", "fc.bias"}
    assert set(step.outputs) == {"side", "fc"}


def test_one_value_a_channel_cannot_be_normalised():
    b = GraphBuilder("small")
    x = b.add("batch_norm", "bn", b.input("image", (3, 1, 1)), epsilon=1e-5, momentum=0.1)
    graph = with_loss(b, b.add("flatten", "flat", x))
    weights = data.weights(graph, 0, "probe")
    with pytest.raises(GeometryError, match="batch_norm 'bn': one value a channel"):
        reference.training_loss(graph, weights, data.batch(graph, 1, 0))


def test_calibrated_statistics_keep_the_image_visible_in_inference():
    """Drawn blindly, MobileNet's let it fade to five millionths of the outputs."""
    graph = MODELS["mobilenet"].build(64)
    batch = data.batch(graph, 4, 13, "float64")
    weights = reference.calibrated(graph, data.weights(graph, 13, "probe", "float64"), batch)
    pruned = graph.for_inference()
    seen = reference.infer(pruned, weights, {"image": batch["image"]})["fc"]
    black = reference.infer(pruned, weights, {"image": 0 * batch["image"]})["fc"]
    assert abs(seen - black).max() > 0.1 * abs(seen).max()
