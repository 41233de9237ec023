"""Every op against a second opinion: naive loops forward, finite differences backward."""

import itertools
import math

import numpy as np
import pytest

from harness.core import GeometryError, HarnessError
from harness.core.ops import OPS, Pass
from harness.core.ops.windows import out_size

EPSILON = 1e-6  # of the finite differences: leaves about nine digits in float64


def spread(*shape):
    """Distinct values at least 0.1 apart and none within 0.05 of zero, in a scrambled order: no kink is ever near."""
    size = int(np.prod(shape))
    return ((np.random.RandomState(size).permutation(size) - size // 2) * 0.1 + 0.05).reshape(shape)


def noise(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape)


def noise_ids(high, *shape):
    return np.random.RandomState(sum(shape)).randint(0, high, shape)


def conv(filters, kernel, stride=(1, 1), pads=(0, 0, 0, 0), groups=1, bias=True):
    return {"filters": filters, "kernel": kernel, "stride": stride, "pads": pads, "groups": groups, "bias": bias}


def pool(kernel, stride, pads=(0, 0, 0, 0), ceil=False):
    return {"kernel": kernel, "stride": stride, "pads": pads, "ceil": ceil}


BN = {"epsilon": 1e-3, "momentum": 0.1}
CONVOLUTIONS = {
    "plain": ((2, 3, 5, 4), conv(4, (3, 2))),
    "strided": ((2, 2, 7, 6), conv(3, (3, 3), stride=(2, 3))),
    "asymmetric pads": ((1, 2, 4, 5), conv(3, (3, 3), stride=(2, 2), pads=(0, 1, 2, 3))),
    "grouped": ((2, 4, 5, 5), conv(6, (3, 3), pads=(1, 1, 1, 1), groups=2)),
    "depthwise": ((2, 3, 5, 5), conv(3, (3, 3), pads=(1, 1, 1, 1), groups=3, bias=False)),
    "pointwise": ((2, 3, 2, 2), conv(4, (1, 1), bias=False)),
    "rows left over": ((1, 1, 6, 6), conv(2, (2, 2), stride=(3, 4))),
}
POOLS = {
    "floor": ((2, 2, 6, 6), pool((3, 3), (2, 2))),
    "ceil": ((2, 2, 6, 6), pool((3, 3), (2, 2), ceil=True)),
    "padded": ((1, 2, 5, 5), pool((3, 3), (2, 2), pads=(1, 1, 1, 1))),
    "ceil and asymmetric pads": ((1, 2, 6, 6), pool((3, 2), (2, 2), pads=(0, 1, 0, 0), ceil=True)),
    "ceil window outside": ((1, 1, 2, 2), pool((2, 2), (3, 3), pads=(1, 1, 1, 1), ceil=True)),
    "apart": ((1, 2, 7, 7), pool((2, 2), (3, 3))),
    "one row": ((1, 2, 3, 6), pool((1, 3), (1, 2), ceil=True)),
}


class Case:
    """One op at one setting, with data."""

    def __init__(self, op, attrs, *xs):
        self.op = OPS[op]
        self.attrs = attrs
        self.xs = list(xs)
        shapes = [x.shape[1:] for x in xs]
        self.shape = self.op.infer_shape(attrs, shapes)
        self.params = {}
        for number, spec in enumerate(self.op.params(attrs, shapes)):
            random = np.random.RandomState(number)
            self.params[spec.role] = random.uniform(0.5, 1.5, spec.shape)  # a variance must be positive
        self.trainable = {spec.role for spec in self.op.params(attrs, shapes) if spec.trainable}

    def forward(self, train=True):
        return self.op.forward("node", self.attrs, self.xs, self.params, Pass(train))

    def output(self):
        return np.asarray(self.forward()[0])


def dense_case(bias):
    return Case("dense", {"units": 4, "bias": bias}, noise(3, 5))


CONSTANT = spread(2, 3, 4)  # a target has no gradient
LENGTHS = np.array([3, 5, 1])  # of sequences of up to five steps
CASES = {
    "add": Case("add", {}, noise(2, 3, 2, 2), spread(2, 3, 2, 2)),
    "attention": Case("attention", {"units": 4}, noise(3, 2, 6), noise(3, 5, 3), LENGTHS),
    "avg_pool2d": Case("avg_pool2d", {"kernel": (3, 2), "stride": (2, 2)}, noise(2, 3, 6, 5)),
    "avg_pool2d apart": Case("avg_pool2d", {"kernel": (1, 2), "stride": (2, 3)}, noise(1, 2, 4, 6)),
    "batch_norm of maps": Case("batch_norm", BN, noise(3, 2, 3, 2)),
    "batch_norm of vectors": Case("batch_norm", BN, noise(5, 3)),
    "bilstm": Case("bilstm", {"units": 2}, noise(3, 5, 3), LENGTHS),
    "concat": Case("concat", {}, noise(2, 3, 4), noise(2, 3, 1)),
    "dense": dense_case(bias=True),
    "dense without bias": dense_case(bias=False),
    "dense over steps": Case("dense", {"units": 4, "bias": True}, noise(3, 2, 5)),
    "dropout at rate 0": Case("dropout", {"rate": 0.0}, noise(2, 3)),
    "embedding": Case("embedding", {"rows": 4, "width": 3}, np.array([1, 3, 1])),
    "embedding of sequences": Case("embedding", {"rows": 4, "width": 3}, np.array([[1, 3, 1], [0, 3, 3]])),
    "flatten": Case("flatten", {}, noise(2, 3, 2, 4)),
    "global_avg_pool": Case("global_avg_pool", {}, noise(2, 3, 2, 5)),
    "gram": Case("gram", {}, noise(2, 3, 4, 2)),
    "lstm": Case("lstm", {"units": 2}, noise(3, 4, 3)),
    "mul": Case("mul", {}, noise(2, 3), spread(2, 3)),
    "relu": Case("relu", {}, spread(2, 3, 2, 2)),
    "sequence_cross_entropy": Case("sequence_cross_entropy", {"smoothing": 0.1}, noise(3, 5, 4), noise_ids(4, 3, 5), LENGTHS),
    "sigmoid_cross_entropy": Case("sigmoid_cross_entropy", {}, noise(4, 1), np.array([0, 1, 1, 0])),
    "softmax_cross_entropy": Case("softmax_cross_entropy", {}, noise(4, 5), np.array([0, 4, 2, 2])),
    "squared_error": Case("squared_error", {"weight": 0.3}, noise(2, 3, 4), CONSTANT),
    "variable": Case("variable", {"shape": (3, 2, 4)}),
}
CASES.update(("conv2d " + name, Case("conv2d", attrs, noise(*shape))) for name, (shape, attrs) in CONVOLUTIONS.items())
CASES.update(("max_pool2d " + name, Case("max_pool2d", attrs, spread(*shape))) for name, (shape, attrs) in POOLS.items())


def slope(case, array, direction):
    """Central finite differences of sum(output * direction) by every element of ``array``, which is put back after."""
    found = np.zeros_like(array)
    for place in np.ndindex(*array.shape):
        kept = array[place]
        array[place] = kept + EPSILON
        above = (case.output() * direction).sum()
        array[place] = kept - EPSILON
        below = (case.output() * direction).sum()
        array[place] = kept
        found[place] = (above - below) / (2 * EPSILON)
    return found


def test_every_op_has_a_case_and_every_case_an_op():
    assert {case.op.name for case in CASES.values()} == set(OPS)
    assert all(op.name == name for name, op in OPS.items())


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_output_has_the_inferred_shape(name):
    case = CASES[name]
    batch = () if case.shape == () else (len(case.xs[0]) if case.xs else 1,)  # a loss is one number for the whole batch
    assert case.output().shape == batch + case.shape


@pytest.mark.parametrize("name", sorted(CASES))
def test_backward_agrees_with_finite_differences(name):
    case = CASES[name]
    y, saved = case.forward()
    direction = np.random.RandomState(7).uniform(0.5, 1.5, np.shape(y))
    input_grads, param_grads = case.op.backward(case.attrs, saved, direction)
    assert len(input_grads) == len(case.xs)
    assert set(param_grads) == case.trainable
    for number, x in enumerate(case.xs):
        if x.dtype.kind == "f" and x is not CONSTANT:
            np.testing.assert_allclose(input_grads[number], slope(case, x, direction), rtol=1e-6, atol=1e-7)
        else:
            assert input_grads[number] is None
    for role in sorted(case.trainable):
        np.testing.assert_allclose(param_grads[role], slope(case, case.params[role], direction), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(CASES))
def test_float32_stays_float32(name):
    case = CASES[name]
    xs = [x.astype("float32") if x.dtype.kind == "f" else x for x in case.xs]
    params = {role: array.astype("float32") for role, array in case.params.items()}
    y, saved = case.op.forward("node", case.attrs, xs, params, Pass(train=True))
    input_grads, param_grads = case.op.backward(case.attrs, saved, np.ones_like(y))
    assert {str(a.dtype) for a in [y] + [g for g in input_grads if g is not None] + list(param_grads.values())} == {"float32"}


def naive_conv(x, weight, bias, attrs, out):
    top, left = attrs["pads"][:2]
    step_down, step_right = attrs["stride"]
    width = weight.shape[1]
    y = np.zeros((len(x), *out))
    for n, f, i, j in np.ndindex(*y.shape):
        first = f // (out[0] // attrs["groups"]) * width
        total = 0.0 if bias is None else bias[f]
        for c, u, v in np.ndindex(*weight.shape[1:]):
            row, column = i * step_down + u - top, j * step_right + v - left
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                total += weight[f, c, u, v] * x[n, first + c, row, column]
        y[n, f, i, j] = total
    return y


@pytest.mark.parametrize("name", sorted(CONVOLUTIONS))
def test_conv2d_agrees_with_loops(name):
    case = CASES["conv2d " + name]
    expected = naive_conv(case.xs[0], case.params["weight"], case.params.get("bias"), case.attrs, case.shape)
    np.testing.assert_allclose(case.output(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "name, out",
    [
        ("plain", (4, 3, 3)),
        ("strided", (3, 3, 2)),
        ("asymmetric pads", (3, 2, 4)),
        ("depthwise", (3, 5, 5)),
        ("rows left over", (2, 2, 2)),
    ],
)
def test_conv2d_sizes(name, out):
    assert CASES["conv2d " + name].shape == out


def test_conv2d_counts_each_group_alone():
    case = CASES["conv2d grouped"]  # 6 filters on 2 channels of 3 x 3, at 5 x 5 places
    assert case.op.macs(case.attrs, [(4, 5, 5)], case.shape) == 6 * 2 * 9 * 25
    assert case.op.params(case.attrs, [(4, 5, 5)])[0].fan_in == 18


@pytest.mark.parametrize("channels, filters", [(3, 4), (4, 3)])
def test_conv2d_refuses_groups_that_do_not_divide(channels, filters):
    with pytest.raises(ValueError, match="2 groups do not divide"):
        OPS["conv2d"].infer_shape(conv(filters, (1, 1), groups=2), [(channels, 2, 2)])


def naive_pool(x, attrs, out):
    top, left = attrs["pads"][:2]
    y = np.full((len(x), *out), -np.inf)
    for n, c, i, j in np.ndindex(*y.shape):
        for u, v in np.ndindex(*attrs["kernel"]):
            row, column = i * attrs["stride"][0] + u - top, j * attrs["stride"][1] + v - left
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                y[n, c, i, j] = max(y[n, c, i, j], x[n, c, row, column])
    return y


@pytest.mark.parametrize("name", sorted(POOLS))
def test_max_pool2d_agrees_with_loops(name):
    case = CASES["max_pool2d " + name]
    np.testing.assert_array_equal(case.output(), naive_pool(case.xs[0], case.attrs, case.shape))


@pytest.mark.parametrize(
    "name, out",
    [
        ("floor", (2, 2, 2)),
        ("ceil", (2, 3, 3)),
        ("padded", (2, 3, 3)),
        ("ceil and asymmetric pads", (2, 3, 4)),
        ("ceil window outside", (1, 1, 1)),
        ("apart", (2, 2, 2)),
        ("one row", (2, 3, 3)),
    ],
)
def test_max_pool2d_sizes(name, out):
    assert CASES["max_pool2d " + name].shape == out


def test_padding_never_wins_a_maximum():
    x = -1 - np.abs(noise(1, 1, 3, 3))
    y = Case("max_pool2d", pool((3, 3), (2, 2), pads=(1, 1, 1, 1)), x).output()
    assert y.max() < -1
    assert np.isfinite(y).all()


def test_the_first_of_equal_maxima_gets_the_gradient():
    case = Case("max_pool2d", pool((2, 2), (2, 2)), np.ones((1, 1, 2, 2)))
    _, saved = case.forward()
    (grad,), _ = case.op.backward(case.attrs, saved, np.ones((1, 1, 1, 1)))
    assert grad.tolist() == [[[[1, 0], [0, 0]]]]


@pytest.mark.parametrize("name", ["ceil", "ceil and asymmetric pads", "one row"])
def test_full_pads_turn_ceil_into_floor(name):
    shape, attrs = POOLS[name]
    op = OPS["max_pool2d"]
    full = op.full_pads(attrs, shape[1:])
    x = CASES["max_pool2d " + name].xs[0]
    floored = Case("max_pool2d", dict(attrs, pads=full, ceil=False), x)
    assert full != attrs["pads"]
    np.testing.assert_array_equal(floored.output(), CASES["max_pool2d " + name].output())


@pytest.mark.parametrize(
    "size, kernel, stride, before, after, ceil, count",
    [
        (6, 3, 2, 0, 0, False, 2),
        (6, 3, 2, 0, 0, True, 3),
        (7, 3, 2, 0, 0, True, 3),  # nothing left over
        (2, 2, 3, 1, 1, True, 1),  # the next window would start in the trailing pad
        (3, 3, 1, 0, 0, False, 1),
    ],
)
def test_out_size_counts_windows(size, kernel, stride, before, after, ceil, count):
    assert out_size("op", size, kernel, stride, before, after, ceil) == count


def test_a_kernel_larger_than_the_map_is_refused():
    with pytest.raises(GeometryError, match="conv2d: kernel 5 is larger than the padded map 4"):
        OPS["conv2d"].infer_shape(conv(1, (5, 5), pads=(0, 1, 1, 0)), [(1, 3, 3)])


def by_channel(x):
    """Every channel's values as one list, all batch and map places in it."""
    return [x[:, c].ravel().tolist() for c in range(x.shape[1])]


def mean_and_variance(values):
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / len(values)


@pytest.mark.parametrize("name", ["batch_norm of maps", "batch_norm of vectors"])
def test_batch_norm_normalises_by_the_batch_in_training(name):
    case = CASES[name]
    y = case.output()
    for c, (values, results) in enumerate(itertools.zip_longest(by_channel(case.xs[0]), by_channel(y))):
        mean, variance = mean_and_variance(values)
        gamma, beta = case.params["gamma"][c], case.params["beta"][c]
        expected = [gamma * (value - mean) / math.sqrt(variance + 1e-3) + beta for value in values]
        np.testing.assert_allclose(results, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("biased, correction", [(False, 18 / 17), (True, 1)])
def test_batch_norm_moves_its_running_statistics(biased, correction):
    case = CASES["batch_norm of maps"]  # 3 samples of 3 x 2: 18 values a channel
    run = Pass(train=True, biased_running_var=biased)
    case.op.forward("bn", case.attrs, case.xs, case.params, run)
    assert set(run.updates) == {("bn", "mean"), ("bn", "var")}
    for c, values in enumerate(by_channel(case.xs[0])):
        mean, variance = mean_and_variance(values)
        assert run.updates["bn", "mean"][c] == pytest.approx(0.9 * case.params["mean"][c] + 0.1 * mean, rel=1e-12)
        assert run.updates["bn", "var"][c] == pytest.approx(0.9 * case.params["var"][c] + 0.1 * correction * variance, rel=1e-12)


def test_batch_norm_infers_by_its_running_statistics():
    case = CASES["batch_norm of maps"]
    run = Pass(train=False)
    y, _ = case.op.forward("bn", case.attrs, case.xs, case.params, run)
    gamma, beta, mean, var = (case.params[role] for role in ("gamma", "beta", "mean", "var"))
    for n, c, i, j in np.ndindex(*y.shape):
        expected = gamma[c] * (case.xs[0][n, c, i, j] - mean[c]) / math.sqrt(var[c] + 1e-3) + beta[c]
        assert y[n, c, i, j] == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert run.updates == {}


def test_softmax_cross_entropy_is_the_mean_over_the_batch():
    case = CASES["softmax_cross_entropy"]
    logits, labels = (x.tolist() for x in case.xs)
    losses = [math.log(math.fsum(math.exp(v) for v in row)) - row[labels[n]] for n, row in enumerate(logits)]
    assert float(case.output()) == pytest.approx(math.fsum(losses) / len(losses), rel=1e-12)


def test_softmax_cross_entropy_survives_huge_logits():
    case = Case("softmax_cross_entropy", {}, np.array([[1000.0, 0.0], [-1000.0, 0.0]]), np.array([0, 0]))
    assert float(case.output()) == pytest.approx(500)


@pytest.mark.parametrize("name", ["dense", "dense without bias"])
def test_dense_agrees_with_loops(name):
    case = CASES[name]
    weight, bias = case.params["weight"], case.params.get("bias", np.zeros(4))
    for n, unit in np.ndindex(3, 4):
        expected = math.fsum(weight[unit, k] * case.xs[0][n, k] for k in range(5)) + bias[unit]
        assert case.output()[n, unit] == pytest.approx(expected, rel=1e-12)
    assert case.op.macs(case.attrs, [(5,)], case.shape) == 20


def test_global_avg_pool_agrees_with_loops():
    case = CASES["global_avg_pool"]
    for n, c in np.ndindex(2, 3):
        assert case.output()[n, c] == pytest.approx(math.fsum(case.xs[0][n, c].ravel()) / 10, rel=1e-12)


def test_flatten_keeps_the_channel_slowest():
    x = np.arange(12.0).reshape(1, 3, 2, 2)
    assert Case("flatten", {}, x).output().tolist() == [list(range(12))]


def test_add_and_relu_by_hand():
    assert Case("add", {}, np.array([[1.0, 2.0]]), np.array([[3.0, -5.0]])).output().tolist() == [[4, -3]]
    assert Case("relu", {}, np.array([[-1.0, 0.0, 2.0]])).output().tolist() == [[0, 0, 2]]


def test_the_gradient_of_relu_at_zero_is_zero():
    case = Case("relu", {}, np.array([[-1.0, 0.0, 2.0]]))
    _, saved = case.forward()
    (grad,), _ = case.op.backward({}, saved, np.array([[5.0, 5.0, 5.0]]))
    assert grad.tolist() == [[0, 0, 5]]


def test_a_pass_remembers_the_smallest_relative_distance_from_zero():
    run = Pass(train=True)
    for values in ([[-4.0, 1.0]], [[8.0, -0.5]], [[1.0, 1.0]]):
        OPS["relu"].forward("node", {}, [np.array(values)], {}, run)
    assert run.relu_margin == 0.0625


def test_dropout_is_nothing_in_inference_and_refused_in_training():
    case = Case("dropout", {"rate": 0.5}, noise(2, 3))
    assert case.forward(train=False)[0] is case.xs[0]
    with pytest.raises(HarnessError, match=r"dropout 'node' cannot be compared in training; use Graph.without_dropout\(\)"):
        case.forward(train=True)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def naive_lstm(steps, params, suffix=""):
    """One sample through one direction, gate by gate and unit by unit."""
    weight_ih, weight_hh, bias_ih, bias_hh = (params[role + suffix] for role in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    units = weight_hh.shape[1]
    h, c, outputs = [0.0] * units, [0.0] * units, []
    for x in steps:
        z = [
            math.fsum(w * v for w, v in zip(weight_ih[k], x)) + math.fsum(w * v for w, v in zip(weight_hh[k], h)) + bias_ih[k] + bias_hh[k]
            for k in range(4 * units)
        ]
        gates = [z[g * units : (g + 1) * units] for g in range(4)]
        c = [sigmoid(f) * before + sigmoid(i) * math.tanh(g) for i, f, g, before in zip(gates[0], gates[1], gates[2], c)]
        h = [sigmoid(o) * math.tanh(cell) for o, cell in zip(gates[3], c)]
        outputs.append(h)
    return np.array(outputs)


def test_lstm_agrees_with_loops():
    case = CASES["lstm"]
    expected = [naive_lstm(sample, case.params) for sample in case.xs[0]]
    np.testing.assert_allclose(case.output(), expected, rtol=1e-12)
    assert case.op.macs(case.attrs, [(4, 3)], case.shape) == 4 * 4 * 2 * (3 + 2)


def test_bilstm_reads_each_sample_backwards_from_its_own_end():
    case = CASES["bilstm"]
    for x, length, y in zip(case.xs[0], LENGTHS, case.output()):
        onward, back = naive_lstm(x[:length], case.params), naive_lstm(x[:length][::-1], case.params, "_reverse")[::-1]
        np.testing.assert_allclose(y[:length], np.concatenate([onward, back], axis=1), rtol=1e-12)
        assert not y[length:].any()


def test_attention_agrees_with_loops():
    case = CASES["attention"]
    query, memory, _ = case.xs
    p = case.params
    direction = p["vector"] / math.sqrt(math.fsum(p["vector"] ** 2))
    for n, t in np.ndindex(3, 2):
        scores = [
            p["scale"][0] * math.fsum(direction * np.tanh(p["query"] @ query[n, t] + p["key"] @ memory[n, s] + p["bias"]))
            for s in range(LENGTHS[n])
        ]
        powers = [math.exp(score) for score in scores]
        expected = sum(power / math.fsum(powers) * memory[n, s] for s, power in enumerate(powers))
        np.testing.assert_allclose(case.output()[n, t], expected, rtol=1e-12)
    assert case.op.macs(case.attrs, [(2, 6), (5, 3), ()], case.shape) == 4 * (2 * 6 + 5 * 3) + 2 * 5 * (4 + 3)


def test_sequence_cross_entropy_counts_no_padding():
    case = CASES["sequence_cross_entropy"]
    logits, labels, lengths = case.xs
    cost = 0.0
    for n in range(3):
        for t in range(lengths[n]):
            total = math.log(math.fsum(math.exp(z) for z in logits[n, t]))
            surprises = [total - z for z in logits[n, t]]
            cost += 0.9 * surprises[labels[n, t]] + 0.1 * math.fsum(surprises) / 4
    assert float(case.output()) == pytest.approx(cost / 3, rel=1e-12)
    moved = [logits.copy(), labels.copy(), lengths]
    moved[0][0, 4], moved[1][0, 4] = 7, 3  # past the first sample's length
    assert float(Case("sequence_cross_entropy", case.attrs, *moved).output()) == float(case.output())


def test_sigmoid_cross_entropy_is_the_mean_over_the_batch():
    case = CASES["sigmoid_cross_entropy"]
    losses = [-math.log(sigmoid(z if y else -z)) for (z,), y in zip(*case.xs)]
    assert float(case.output()) == pytest.approx(math.fsum(losses) / 4, rel=1e-12)
    huge = Case("sigmoid_cross_entropy", {}, np.array([[1000.0], [-1000.0], [1000.0], [-1000.0]]), np.array([0, 1, 1, 0]))
    assert float(huge.output()) == pytest.approx(500)


def test_embedding_adds_up_the_gradients_of_a_row_asked_for_twice():
    case = CASES["embedding of sequences"]
    _, saved = case.forward()
    grad = noise(2, 3, 3)
    _, grads = case.op.backward(case.attrs, saved, grad)
    np.testing.assert_allclose(grads["table"], [grad[1, 0], grad[0, 0] + grad[0, 2], 0 * grad[0, 0], grad[0, 1] + grad[1, 1] + grad[1, 2]])


def test_mul_and_concat_by_hand():
    assert Case("mul", {}, np.array([[1.0, 2.0]]), np.array([[3.0, -5.0]])).output().tolist() == [[3, -10]]
    assert Case("concat", {}, np.array([[1.0, 2.0]]), np.array([[3.0]])).output().tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    "op, attrs, shapes",
    [
        ("attention", {"units": 2}, [(2, 3), (4,), ()]),
        ("bilstm", {"units": 2}, [(2, 3), (4,)]),
        ("concat", {}, [(2, 3), (3, 3)]),
        ("concat", {}, [(), ()]),
        ("dense", {"units": 2, "bias": True}, [()]),
        ("lstm", {"units": 2}, [(3,)]),
        ("mul", {}, [(2,), (3,)]),
        ("sequence_cross_entropy", {"smoothing": 0.1}, [(2, 3), (3,), ()]),
        ("sigmoid_cross_entropy", {}, [(2,), ()]),
    ],
)
def test_shapes_that_make_no_sense_are_refused(op, attrs, shapes):
    with pytest.raises(ValueError, match="^" + op + ": "):
        OPS[op].infer_shape(attrs, shapes)


def test_avg_pool2d_drops_a_last_partial_window():
    x = np.arange(10.0).reshape(1, 1, 2, 5)
    y, _ = OPS["avg_pool2d"].forward("node", {"kernel": (2, 2), "stride": (2, 2)}, [x], {}, Pass(train=False))
    assert y.tolist() == [[[[3.0, 5.0]]]]


def test_gram_is_the_mean_of_products_of_channels_over_all_numbers_of_the_map():
    x = np.array([[[[1.0, 2.0]], [[3.0, 4.0]]]])  # two channels of two positions
    y, _ = OPS["gram"].forward("node", {}, [x], {}, Pass(train=False))
    assert y.tolist() == [[5 / 4, 11 / 4, 11 / 4, 25 / 4]]
    assert OPS["gram"].macs({}, [(2, 1, 2)], (4,)) == 8
