"""Weights and batches are the same bytes on every machine, Python and numpy."""

import zlib

import numpy as np
import pytest

from harness.core import GraphBuilder, data
from harness.core.models import MODELS

from . import tiny

GRAPH = tiny.build(9)
SENTENCES = MODELS["gnmt"].small()
SEED = 3
# CRC-32 of the bytes of an array. A change here makes every framework start elsewhere than in older results.
WEIGHTS = {
    ("init", "float32", "conv1.weight"): 0x52E9E567,
    ("init", "float32", "bn1.var"): 0xF6A0F2C1,
    ("init", "float32", "wide.bias"): 0xF288B395,
    ("probe", "float64", "conv1.weight"): 0xDCD63F48,
    ("probe", "float32", "conv1.weight"): 0x52E9E567,
    ("probe", "float32", "conv1.bias"): 0x8834AACE,
    ("probe", "float32", "bn1.gamma"): 0x9E1715B9,
    ("probe", "float32", "bn1.var"): 0x3E697C94,
    ("probe", "float32", "bn2.beta"): 0x41188837,
    ("probe", "float32", "bn2.mean"): 0xCF4051A8,
    ("probe", "float32", "depthwise.weight"): 0x647A1D8C,
    ("probe", "float32", "wide.weight"): 0x6E83D029,
}
BATCH = {
    ("float32", "image"): 0x41A2FEB9,
    ("float64", "image"): 0xA4725054,
    ("float32", "labels"): 0xC58C83A8,
}


def crc(array):
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


def equal(one, other):
    return list(one) == list(other) and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kind, dtype, name", sorted(WEIGHTS))
def test_weights_are_the_same_bytes_everywhere(kind, dtype, name):
    assert crc(data.weights(GRAPH, SEED, kind, dtype)[name]) == WEIGHTS[kind, dtype, name]


@pytest.mark.parametrize("dtype, name", sorted(BATCH))
def test_batches_are_the_same_bytes_everywhere(dtype, name):
    assert crc(data.batch(GRAPH, 4, SEED, dtype)[name]) == BATCH[dtype, name]


def test_a_seed_gives_the_same_data_twice_and_another_seed_other_data():
    assert equal(data.weights(GRAPH, 1, "probe"), data.weights(GRAPH, 1, "probe"))
    assert equal(data.batch(GRAPH, 4, 1), data.batch(GRAPH, 4, 1))
    for one, other in (
        (data.weights(GRAPH, 1, "probe"), data.weights(GRAPH, 2, "probe")),
        (data.batch(GRAPH, 4, 1), data.batch(GRAPH, 4, 2)),
    ):
        assert not any(np.array_equal(one[name], other[name]) for name in one)


def test_an_array_depends_on_its_own_name_alone():
    def graph(*names):
        b = GraphBuilder("net")
        x = b.input("x", (4,))
        for name in names:
            x = b.add("dense", name, x, units=4, bias=True)
        return b.finish(outputs=(x,), loss="")

    forward, backward = (data.weights(graph(*names), 0, "probe") for names in (("one", "two"), ("two", "one")))
    assert set(forward) == set(backward)
    assert all(np.array_equal(forward[name], backward[name]) for name in forward)
    assert not np.array_equal(forward["one.weight"], forward["two.weight"])


def test_the_global_random_state_plays_no_part():
    np.random.seed(0)
    before = data.weights(GRAPH, 0, "probe")
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    assert equal(before, data.weights(GRAPH, 0, "probe"))
    assert np.array_equal(np.random.get_state()[1], state)


def test_probe_leaves_nothing_neutral():
    specs = dict(GRAPH.params, **SENTENCES.params)
    assert {spec.role for spec in specs.values()} == (set(data.RANGES["probe"]) | {"weight"}) - {
        "value"
    }  # that of an image, which has no neutral value
    arrays = dict(data.weights(GRAPH, 0, "probe", "float64"), **data.weights(SENTENCES, 0, "probe", "float64"))
    for name, array in arrays.items():
        neutral = 1.0 if specs[name].role in ("gamma", "var", "scale") else 0.0
        assert np.abs(array - neutral).min() > 0, name
        assert len(np.unique(array)) == array.size, name  # or a wrong permutation could hide


def test_init_is_how_training_starts():
    neutral = {"bias": 0.0, "gamma": 1.0, "beta": 0.0, "mean": 0.0, "var": 1.0}
    for name, array in data.weights(GRAPH, 0).items():
        role = GRAPH.params[name].role
        assert role == "weight" or np.all(array == neutral[role]), name


@pytest.mark.parametrize("kind", sorted(data.RANGES))
def test_values_fill_the_range_of_their_role(kind):
    b = GraphBuilder("net")
    x = b.add("batch_norm", "bn", b.input("x", (5000,)), epsilon=1e-5, momentum=0.1)
    graph = b.finish(outputs=(b.add("dense", "fc", x, units=5000, bias=True),), loss="")
    weights = data.weights(graph, 0, kind, "float64")
    bounds = dict(data.RANGES[kind], weight=(-((6 / 5000) ** 0.5), (6 / 5000) ** 0.5))
    for name, array in weights.items():
        low, high = bounds[graph.params[name].role]
        assert low <= array.min() and array.max() <= high
        assert array.mean() == pytest.approx((low + high) / 2, abs=0.05 * (high - low))
        assert array.var() == pytest.approx((high - low) ** 2 / 12, rel=0.1)


def test_images_have_zero_mean_and_unit_variance():
    image = data.batch(tiny.build(64), 8, 0)["image"]
    assert image.mean() == pytest.approx(0, abs=0.02)
    assert image.var() == pytest.approx(1, abs=0.02)


def test_labels_stay_below_their_bound_and_reach_every_class():
    labels = data.batch(GRAPH, 500, 0)["labels"]
    assert labels.shape == (500,)
    assert set(labels.tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_have_the_precision_asked_for_and_indices_are_int32(dtype):
    assert {str(array.dtype) for array in data.weights(GRAPH, 0, "probe", dtype).values()} == {dtype}
    assert {name: str(array.dtype) for name, array in data.batch(GRAPH, 2, 0, dtype).items()} == {"image": dtype, "labels": "int32"}


@pytest.mark.parametrize("kind", sorted(data.RANGES))
def test_float32_data_are_the_float64_data_rounded(kind):
    exact, rounded = (data.weights(GRAPH, 0, kind, dtype) for dtype in ("float64", "float32"))
    assert all(np.array_equal(exact[name].astype("float32"), rounded[name]) for name in exact)
    exact, rounded = (data.batch(GRAPH, 2, 0, dtype) for dtype in ("float64", "float32"))
    assert np.array_equal(exact["image"].astype("float32"), rounded["image"])


def test_arrays_have_the_shapes_of_the_graph():
    assert {name: array.shape for name, array in data.weights(GRAPH, 0).items()} == {p.name: p.shape for p in GRAPH.params.values()}
    assert {name: array.shape for name, array in data.batch(GRAPH, 3, 0).items()} == {"image": (3, 3, 9, 9), "labels": (3,)}


def test_sentences_have_lengths_in_their_bounds_and_padding_after_them():
    batch = data.batch(SENTENCES, 200, 0)
    assert set(batch) == {"source", "target", "labels", "source_length", "target_length"}
    for name, length in (("source", "source_length"), ("target", "target_length"), ("labels", "target_length")):
        assert batch[name].dtype == batch[length].dtype == np.dtype("int32")
        assert set(batch[length].tolist()) == {2, 3, 4, 5, 6}
        counts = np.arange(6) < batch[length][:, None]
        assert set(batch[name][counts].tolist()) == set(range(4, 23))
        assert not batch[name][~counts].any()


def test_work_is_what_counts():
    sentences, images = data.batch(SENTENCES, 8, 0), data.batch(GRAPH, 8, 0)
    assert data.work(GRAPH, images) == 8
    tokens = int((sentences["source"] > 0).sum() + (sentences["target"] > 0).sum())
    assert data.work(SENTENCES, sentences) == tokens < 8 * 12


def test_attention_starts_with_the_scale_that_gnmt_gives_it():
    weights = data.weights(MODELS["gnmt-small"].build(25), 0)
    assert weights["attention.scale"] == pytest.approx([256**-0.5])
