"""The conformance kit lets an honest adapter pass, and catches each saboteur by the right check."""

import copy
import functools

import numpy as np
import pytest

from harness.core import data, hookimpl, plugin, reference
from harness.core.conformance import checks, parity
from harness.core.conformance.problem import Problem, gate_optimizer
from harness.core.errors import ContractError
from harness.core.models import MODELS
from harness.core.optimizers import State

from . import tiny
from .numpy_adapter import NumpyAdapter, RandomDropout

pytestmark = pytest.mark.usefixtures("tiny_models")

TRAINED_TWICE_MORE = {"loss of step 2", "loss of step 3"}


@functools.lru_cache()
def problem(model, mode):
    return Problem(model, mode)


def prove(adapter, mode="train", precision="fp64", model="tiny"):
    return parity.prove(plugin.bind(adapter, "numpy"), tiny.JOB._replace(mode=mode, model=model), precision, problem(model, mode))


def failed(found, precision="fp64"):
    """Return the failed checks: what they compare, without the precision, and the worst tensor."""
    assert all(check.what.startswith(precision + " ") for check in found)
    return {check.what[len(precision) + 1 :]: check.worst for check in found if not check.passed}


# Honest ones.


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("model", ["tiny", "plain", "mobilenet", "resnet18", "gnmt", "ncf"])
def test_an_honest_adapter_passes(model, mode, precision):
    found = prove(NumpyAdapter(), mode, precision, model)
    assert failed(found, precision) == {}
    expected = ["outputs"]
    if mode == "train":
        expected += ["loss"] + ["running statistics"] * (model not in ("gnmt", "ncf")) + ["weights after one step", "update"]
        expected += ["loss of step 2", "loss of step 3"] if precision == "fp64" else []
        expected += ["dropout rate", "dropout values", "dropout gradient"] if model in ("tiny", "gnmt", "ncf") else []
    assert [check.what for check in found] == [f"{precision} {what}" for what in expected]


class Asynchronous(NumpyAdapter):
    """Steps only queue; a sync works them off."""

    def __init__(self):
        super().__init__()
        self.queue = []

    @hookimpl
    def train_step(self, session, batch):
        self.queue.append((super().train_step, session, batch))

    @hookimpl
    def infer_step(self, session, batch):
        self.queue.append((super().infer_step, session, batch))

    @hookimpl
    def sync_device(self, session):
        for step, *arguments in self.queue:
            step(*arguments)
        self.queue = []


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_results_are_read_after_a_sync(mode):
    assert failed(prove(Asynchronous(), mode)) == {}


class Recorder(NumpyAdapter):
    """Keeps what the kit hands to it, and counts what it lets go."""

    def __init__(self):
        super().__init__()
        self.requests = []
        self.graphs = []
        self.given = []
        self.closed = 0

    @hookimpl
    def build_model(self, graph, weights, request):
        self.requests.append(request)
        self.graphs.append(graph)
        self.given.append({str(array.dtype) for array in weights.values()})
        return super().build_model(graph, weights, request)

    @hookimpl
    def close_model(self, session):
        self.closed += 1
        super().close_model(session)


@pytest.mark.parametrize("precision, dtype", [("fp64", "float64"), ("fp32", "float32")])
def test_the_adapter_is_asked_for_the_gate_precision_and_the_fixture_batch(precision, dtype):
    adapter = Recorder()
    prove(adapter, precision=precision)
    assert [(r.precision, r.batch, r.threads, r.mode) for r in adapter.requests] == [(precision, 4, 1, "train")] * 2
    assert adapter.given == [{dtype}] * 2
    assert [graph.name for graph in adapter.graphs] == ["tiny", "dropout"]
    assert adapter.closed == 2


def test_the_gate_trains_with_numbers_that_float32_has():
    """A framework that keeps its hyperparameters in float32 is no worse for it."""
    adapter = Recorder()
    prove(adapter)
    prove(adapter, model="gnmt")
    numbers = {node.attrs["momentum"] for node in adapter.graphs[0].nodes if node.op == "batch_norm"}
    sgd, adam = (next(r.optimizer for r in adapter.requests if r.optimizer.name == name) for name in ("sgd", "adam"))
    numbers |= {sgd.lr, sgd.momentum, adam.lr, adam.beta1, adam.beta2, adam.epsilon, adam.clip_norm}
    assert len(numbers) == 6  # some are alike
    assert all(float(np.float32(number)) == number for number in numbers)


def test_the_graph_to_infer_has_no_loss():
    adapter = Recorder()
    prove(adapter, "infer")
    (graph,) = adapter.graphs
    assert (graph.loss, [spec.name for spec in graph.inputs]) == ("", ["image"])


def test_a_session_is_closed_even_when_a_step_fails():
    class Broken(Recorder):
        @hookimpl
        def train_step(self, session, batch):
            raise RuntimeError("boom")

    adapter = Broken()
    with pytest.raises(RuntimeError, match="boom"):
        prove(adapter)
    assert adapter.closed == 1


# Saboteurs whose mistake is in the network.


def edited(graph, edit):
    graph = copy.copy(graph)
    graph.nodes = tuple(edit(node) for node in graph.nodes)
    return graph


class SkipsRelu(NumpyAdapter):
    def lower(self, graph):
        return edited(graph, lambda n: n._replace(op="dropout", attrs={"rate": 0.0}) if n.name == "relu1" else n)


class WrongEpsilon(NumpyAdapter):
    def lower(self, graph):
        return edited(graph, lambda n: n._replace(attrs=dict(n.attrs, epsilon=1e-3)) if n.op == "batch_norm" else n)


class DropsBias(NumpyAdapter):
    bias = "wide.bias"

    def load(self, weights):
        return {name: np.zeros_like(array) if name == self.bias else array for name, array in weights.items()}


class FlipsKernels(NumpyAdapter):
    """Convolves where the contract says cross-correlation."""

    def load(self, weights):
        return {name: array[:, :, ::-1, ::-1] if array.ndim == 4 else array for name, array in weights.items()}


class EditsTheGraph(NumpyAdapter):
    """Changes the very graph that it was handed."""

    def lower(self, graph):
        for node in graph.nodes:
            if node.op == "batch_norm":
                node.attrs["epsilon"] = 0.1
        return graph


class SwapsStatistics(NumpyAdapter):
    def load(self, weights):
        return dict(weights, **{"bn1.mean": weights["bn1.var"], "bn1.var": weights["bn1.mean"] ** 2})


WRONG_NETWORKS = [SkipsRelu, WrongEpsilon, DropsBias, FlipsKernels, EditsTheGraph]


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("saboteur", [*WRONG_NETWORKS, SwapsStatistics])
def test_a_wrong_network_is_caught_in_inference(saboteur, precision):
    assert failed(prove(saboteur(), "infer", precision), precision) == {"outputs": "logits"}


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("saboteur", WRONG_NETWORKS)
def test_a_wrong_network_is_caught_in_training(saboteur, precision):
    found = failed(prove(saboteur(), "train", precision), precision)
    assert found["outputs"] == "logits"
    assert {"outputs", "loss"} <= set(found)


def test_a_bias_that_batch_normalisation_hides_shows_in_weights_and_statistics():
    class DropsHiddenBias(DropsBias):
        bias = "conv1.bias"

    found = failed(prove(DropsHiddenBias(), "train"))
    assert found == {"weights after one step": "conv1.bias", "running statistics": "bn1.mean"}


class SeesBlack(NumpyAdapter):
    """Loses the image on its way to the device."""

    @hookimpl
    def stage_batch(self, session, arrays):
        return super().stage_batch(session, dict(arrays, image=np.zeros_like(arrays["image"])))


class SwapsColours(NumpyAdapter):
    """Takes RGB for BGR."""

    @hookimpl
    def stage_batch(self, session, arrays):
        return super().stage_batch(session, dict(arrays, image=arrays["image"][:, ::-1]))


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("model", ["tiny", "resnet18", "mobilenet"])
@pytest.mark.parametrize("saboteur", [SeesBlack, SwapsColours])
def test_a_network_that_sees_another_image_is_caught_in_inference(saboteur, model, precision):
    assert set(failed(prove(saboteur(), "infer", precision, model), precision)) == {"outputs"}


# Saboteurs whose mistake is in the step.


class BiasedVariance(NumpyAdapter):
    """Stores the variance over N, and does not say so."""

    def step(self, session, batch):
        self.running_var = "biased"
        try:
            return super().step(session, batch)
        finally:
            del self.running_var


class DeclaredBiasedVariance(NumpyAdapter):
    running_var = "biased"


class ClaimsBiasedVariance(NumpyAdapter):
    """Says that it stores the variance over N, and does not."""

    @hookimpl
    def describe(self, session):
        return dict(super().describe(session), running_var="biased")


@pytest.mark.parametrize("precision, model", [("fp64", "tiny"), ("fp32", "resnet18")])
@pytest.mark.parametrize("liar", [BiasedVariance, ClaimsBiasedVariance])
def test_the_convention_of_the_running_variance_must_be_the_declared_one(liar, precision, model):
    found = failed(prove(liar(), precision=precision, model=model), precision)
    assert set(found) == {"running statistics"}
    assert found["running statistics"].endswith(".var")


def test_a_biased_running_variance_passes_when_declared():
    assert failed(prove(DeclaredBiasedVariance())) == {}


class ForgetsMomentum(NumpyAdapter):
    def step(self, session, batch):
        session.state = State()
        return super().step(session, batch)


def test_only_the_third_loss_shows_that_momentum_is_ignored():
    assert set(failed(prove(ForgetsMomentum()))) == {"loss of step 3"}


class ForgetsTheOtherBatch(NumpyAdapter):
    """Trains on the batch that it saw first, whatever it is handed."""

    @hookimpl
    def stage_batch(self, session, arrays):
        session.first = getattr(session, "first", None) or super().stage_batch(session, arrays)
        return session.first


def test_a_step_uses_the_batch_that_it_is_handed():
    assert set(failed(prove(ForgetsTheOtherBatch()))) == TRAINED_TWICE_MORE


class EpsilonElsewhere(NumpyAdapter):
    """Adds epsilon to the root before its correction, as TensorFlow does."""

    def step(self, session, batch):
        asked = session.request
        optimizer = asked.optimizer
        hat = optimizer.epsilon / (1 - optimizer.beta2 ** (session.state.steps + 1)) ** 0.5
        session.request = asked._replace(optimizer=optimizer._replace(epsilon=hat))
        after = super().step(session, batch)
        session.request = asked
        return after


class NeverClips(NumpyAdapter):
    def step(self, session, batch):
        session.request = session.request._replace(optimizer=session.request.optimizer._replace(clip_norm=0.0))
        return super().step(session, batch)


class SkipsRows(NumpyAdapter):
    """Leaves rows of a table alone that the batch does not ask for, as lazy Adam does."""

    def step(self, session, batch):
        before = session.weights
        after = super().step(session, batch)
        for name, table in after.weights.items():
            if name.endswith(".table"):
                asked = np.concatenate([batch[ids].ravel() for ids in ("source", "target")])
                skipped = np.setdiff1d(np.arange(len(table)), asked)
                table[skipped] = before[name][skipped]
        return after


class UntiesTables(NumpyAdapter):
    """Gives the second user of a table a copy of its own, which is trained apart."""

    def lower(self, graph):
        return edited(graph, lambda n: n._replace(params={"table": "own"}) if n.name == "target_embedding" else n)

    def load(self, weights):
        return dict(weights, own=weights["embedding.table"].copy()) if "embedding.table" in weights else weights


class IgnoresLengths(NumpyAdapter):
    @hookimpl
    def stage_batch(self, session, arrays):
        full = {name: np.full_like(array, 6) if name.endswith("_length") else array for name, array in arrays.items()}
        return super().stage_batch(session, full)


class TrainsOneBias(NumpyAdapter):
    """Adds up an LSTM's two biases and trains the sum in the place of the first."""

    def step(self, session, batch):
        before = session.weights
        after = super().step(session, batch)
        after.weights.update((name, array) for name, array in before.items() if ".bias_hh" in name)
        return after


@pytest.mark.parametrize(
    "saboteur, caught_by",
    [
        (EpsilonElsewhere, {"weights after one step"} | TRAINED_TWICE_MORE),
        (NeverClips, {"weights after one step"} | TRAINED_TWICE_MORE),
        (SkipsRows, {"loss of step 3"}),
        (UntiesTables, {"weights after one step"} | TRAINED_TWICE_MORE),
        (IgnoresLengths, {"outputs", "loss", "weights after one step"} | TRAINED_TWICE_MORE),
        (TrainsOneBias, {"weights after one step"} | TRAINED_TWICE_MORE),
    ],
)
def test_a_wrong_translator_is_caught(saboteur, caught_by):
    assert set(failed(prove(saboteur(), model="gnmt"))) - {"dropout gradient"} == caught_by


class NeverBounds(NumpyAdapter):
    def step(self, session, batch):
        optimizer = session.request.optimizer._replace(bounds=None)
        return reference.train_step(session.graph, session.weights, batch, optimizer, session.state)


class ScalesALoss(NumpyAdapter):
    """Weighs one of the losses twice."""

    def lower(self, graph):
        return edited(graph, lambda n: n._replace(attrs={"weight": 2 * n.attrs["weight"]}) if n.name == "style_loss0" else n)


class TrainsNetwork(NumpyAdapter):
    """Trains the frozen weights too."""

    def step(self, session, batch):
        after = super().step(session, batch)
        after.weights["conv1_1.bias"] = after.weights["conv1_1.bias"] + 1e-4
        return after


@pytest.mark.parametrize(
    "saboteur, caught_by",
    [
        (NumpyAdapter, set()),
        (NeverBounds, {"weights after one step"} | TRAINED_TWICE_MORE),
        (ScalesALoss, {"loss", "weights after one step"} | TRAINED_TWICE_MORE),
        (TrainsNetwork, {"frozen weights"} | TRAINED_TWICE_MORE),
    ],
)
def test_a_wrong_generation_of_images_is_caught(saboteur, caught_by):
    assert set(failed(prove(saboteur(), model="style-vgg"))) == caught_by


class RoundsToBfloat16(NumpyAdapter):
    """Weights and inputs with 8 bits, as bf16 has them; or claims to have them."""

    rounds = True

    def load(self, weights):
        return {name: self.rounded(array) for name, array in weights.items()}

    def rounded(self, array):
        if not self.rounds or array.dtype != np.float32:
            return array
        return (np.ascontiguousarray(array).view("uint32") & 0xFFFF0000).view("float32")

    @hookimpl
    def build_model(self, graph, weights, request):
        session = super().build_model(graph, weights, request._replace(precision="fp32"))
        session.request = request._replace(precision="fp32")
        session.claimed = request.precision
        return session

    @hookimpl
    def describe(self, session):
        return dict(super().describe(session), precision=session.claimed)


class OnlyClaims(RoundsToBfloat16):
    rounds = False


@pytest.mark.parametrize("adapter, caught_by", [(RoundsToBfloat16, set()), (OnlyClaims, {"rounding that does not show"})])
def test_a_coarse_precision_must_be_near_and_must_show(adapter, caught_by):
    checks = prove(adapter(), mode="infer", precision="bf16")
    assert [check.what for check in checks] == ["bf16 outputs", "bf16 rounding that does not show"]
    assert set(failed(checks, "bf16")) == caught_by


class ForgetsWeight(NumpyAdapter):
    def step(self, session, batch):
        after = super().step(session, batch)
        after.weights.update((n, a) for n, a in session.weights.items() if n == "wide.weight")
        return after


class DecaysWeights(NumpyAdapter):
    def step(self, session, batch):
        after = super().step(session, batch)
        lr = session.request.optimizer.lr
        for name in after.state.first:
            after.weights[name] = after.weights[name] - lr * 1e-4 * session.weights[name]
        return after


class WrongRate(NumpyAdapter):
    def step(self, session, batch):
        optimizer = session.request.optimizer
        session.request = session.request._replace(optimizer=optimizer._replace(lr=optimizer.lr * 1.01))
        return super().step(session, batch)


class FreezesStatistics(NumpyAdapter):
    def step(self, session, batch):
        after = super().step(session, batch)
        after.weights.update((n, a) for n, a in session.weights.items() if n.endswith((".mean", ".var")))
        return after


def test_a_weight_that_is_not_updated_is_named():
    found = failed(prove(ForgetsWeight()))
    assert found["weights after one step"] == "wide.weight"
    assert set(found) == {"weights after one step", "dropout gradient"} | TRAINED_TWICE_MORE


@pytest.mark.parametrize("saboteur", [DecaysWeights, WrongRate])
def test_a_wrong_update_is_caught(saboteur):
    assert set(failed(prove(saboteur()))) == {"weights after one step", "dropout gradient"} | TRAINED_TWICE_MORE


def test_running_statistics_that_do_not_move_are_named():
    found = failed(prove(FreezesStatistics()))
    assert set(found) == {"running statistics"}


# Saboteurs whose mistake is in what they report.


class Reports(NumpyAdapter):
    """Reports results edited by a function."""

    def __init__(self, edit):
        super().__init__()
        self.edit = edit

    @hookimpl
    def read_results(self, session):
        results = dict(super().read_results(session))
        results["outputs"] = {name: self.edit(array.copy()) for name, array in results["outputs"].items()}
        return results


def one_nan(array):
    array[-1, -1] = np.nan
    return array


def one_infinity(array):
    array[0, 0] = np.inf
    return array


BAD_OUTPUTS = [one_nan, one_infinity, np.transpose, lambda array: array[:, :, None], lambda array: array[:-1], lambda array: array[:1]]


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("edit", BAD_OUTPUTS, ids=["nan", "inf", "transposed", "an axis more", "a sample less", "one sample"])
def test_outputs_that_are_not_finite_or_have_another_shape_fail(edit, mode, precision):
    found = prove(Reports(edit), mode, precision)
    assert failed(found, precision).get("outputs") == "logits"
    assert found[0].error == float("inf")


class Forgetful(NumpyAdapter):
    """Reports nothing at one place of the results."""

    def __init__(self, part, name=None):
        super().__init__()
        self.part, self.name = part, name

    @hookimpl
    def read_results(self, session):
        results = dict(super().read_results(session))
        if self.name is None:
            results[self.part] = None
        else:
            results[self.part] = {name: array for name, array in results[self.part].items() if name != self.name}
        return results


class ForgetsToReport(NumpyAdapter):
    """Reports all weights but one."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    @hookimpl
    def read_weights(self, session):
        return {name: array for name, array in session.weights.items() if name != self.name}


@pytest.mark.parametrize(
    "adapter, name, what",
    [
        (Forgetful("outputs", "logits"), "logits", "outputs"),
        (ForgetsToReport("mean_out.weight"), "mean_out.weight", "weights after one step"),
        (ForgetsToReport("bn2.var"), "bn2.var", "running statistics"),
    ],
)
def test_a_tensor_that_is_not_reported_is_named(adapter, name, what):
    assert failed(prove(adapter)) == {what: name}


def test_a_training_step_without_a_loss_fails():
    assert set(failed(prove(Forgetful("loss")))) == {"loss"} | TRAINED_TWICE_MORE


class HalvesBatch(NumpyAdapter):
    @hookimpl
    def stage_batch(self, session, arrays):
        return super().stage_batch(session, {name: array[: len(array) // 2] for name, array in arrays.items()})


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_halved_batch_is_refused(mode):
    with pytest.raises(ContractError, match="adapter 'numpy' was asked for batch 4 and reports 2"):
        prove(HalvesBatch(), mode)


def test_a_halved_batch_that_is_not_reported_fails_all_the_same():
    class Liar(HalvesBatch):
        @hookimpl
        def describe(self, session):
            return dict(super().describe(session), batch=4)

    assert failed(prove(Liar()))["outputs"] == "logits"


@pytest.mark.parametrize("setting, value", [("device", "cuda:0"), ("precision", "fp16"), ("threads", 64), ("batch", 2)])
def test_settings_in_effect_must_be_those_asked_for(setting, value):
    class Other(NumpyAdapter):
        @hookimpl
        def describe(self, session):
            return dict(super().describe(session), **{setting: value})

    with pytest.raises(ContractError, match=f"^adapter 'numpy' was asked for {setting} .* and reports {value}$"):
        prove(Other(), "infer")


@pytest.mark.parametrize("name", parity.REPORTED)
def test_a_setting_that_is_not_reported_is_refused(name):
    class Silent(NumpyAdapter):
        @hookimpl
        def describe(self, session):
            return {key: value for key, value in super().describe(session).items() if key != name}

    with pytest.raises(ContractError, match=f"adapter 'numpy': describe leaves out {name}. See docs/hooks.md#describe"):
        prove(Silent(), "infer")


# Saboteurs of dropout.


class Unscaled(RandomDropout):
    def mask(self, shape, rate):
        return super().mask(shape, rate) * (1 - rate)


class WrongDropRate(RandomDropout):
    def mask(self, shape, rate):
        return super().mask(shape, 0.4) * 0.6 / (1 - rate)


class NoDropout(RandomDropout):
    def mask(self, shape, rate):
        return np.ones(shape)


class DropsAll(RandomDropout):
    def mask(self, shape, rate):
        return np.zeros(shape)


class IgnoresMaskBackward(RandomDropout):
    def backward(self, attrs, saved, grad):
        return [grad], {}


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize(
    "dropout, blamed",
    [
        (Unscaled, {"dropout values", "dropout gradient"}),
        (WrongDropRate, {"dropout rate"}),
        (NoDropout, {"dropout rate", "dropout values", "dropout gradient"}),
        (DropsAll, {"dropout rate"}),
        (IgnoresMaskBackward, {"dropout gradient"}),
    ],
)
def test_a_wrong_dropout_is_caught_and_nothing_else_blamed(dropout, blamed, precision):
    adapter = NumpyAdapter()
    adapter.dropout = dropout()
    assert set(failed(prove(adapter, precision=precision), precision)) == blamed


# The session that is timed, at its full size.


def witness(adapter, mode, model="tiny"):
    job = tiny.JOB._replace(mode=mode, model=model)
    whole = MODELS[model].build(9)
    graph = whole if mode == "train" else whole.for_inference()
    weights, batch = data.weights(graph, 0), data.batch(graph, job.batch, 0)
    found = parity.Witness(job, graph, weights, batch)
    hooks = plugin.bind(adapter, "numpy")
    session = hooks.build_model(graph, weights, job.request("fp32", job.batch, gate_optimizer(model)))
    step = hooks.train_step if mode == "train" else hooks.infer_step
    step(session, hooks.stage_batch(session, batch))
    return found.checks(hooks.read_results(session))


@pytest.mark.parametrize("mode, model, what", [("infer", "tiny", "full-size outputs"), ("train", "plain", "full-size loss")])
def test_the_timed_session_is_checked_too(mode, model, what):
    (honest,) = witness(NumpyAdapter(), mode, model)
    (wrong,) = witness(SkipsRelu(), mode, model)
    assert (honest.what, honest.passed) == (what, True)
    assert (wrong.what, wrong.passed) == (what, False)


def nan_in_the_last_sample(array):
    array[-1] = np.nan
    return array


@pytest.mark.parametrize("edit", [lambda array: array[:1], nan_in_the_last_sample], ids=["one sample", "nan"])
def test_the_timed_session_must_give_every_sample(edit):
    assert [check.passed for check in witness(Reports(edit), "infer")] == [False]


def test_no_loss_can_be_foretold_where_training_draws_numbers():
    assert witness(NumpyAdapter(), "train") == []


def test_dropout_left_on_in_inference_is_caught_in_the_timed_session():
    class StillDrops(NumpyAdapter):
        @hookimpl
        def infer_step(self, session, batch):
            with self.own_dropout():
                super().infer_step(session, batch)

    class InTrainingMode(RandomDropout):
        def forward(self, node, attrs, xs, params, run):
            return xs[0] * self.mask(xs[0].shape, attrs["rate"]).astype(xs[0].dtype), None

    adapter = StillDrops()
    adapter.dropout = InTrainingMode()
    assert failed(prove(adapter, "infer")) == {}  # rates are 0 there
    assert [check.passed for check in witness(adapter, "infer")] == [False]


# How an error is measured.


@pytest.mark.parametrize(
    "value, truth, error",
    [
        ([1.0, -2.0], [1.0, -2.0], 0),
        ([1.0, -2.5], [1.0, -2.0], 0.25),
        ([0.5, 4.0], [0.0, 4.0], 0.125),  # relative to the largest, so zeros are no trouble
        ([1.0], [1.0, 1.0], float("inf")),
        ([[1.0]], [1.0], float("inf")),
        ([float("nan")], [1.0], float("inf")),
        (None, 1.0, float("inf")),
    ],
)
def test_relative_error(value, truth, error):
    assert checks.relative_error(value, truth) == error


def test_a_check_with_an_error_that_is_no_number_fails():
    assert not checks.Check("loss", float("nan"), 1.0).passed
    assert checks.Check("loss", 1.0, 1.0).passed
