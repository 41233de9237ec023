"""The pair of images that generation starts from, and what is computed from it."""

import hashlib
import json

import numpy as np
import pytest

from harness.core import data, images, reference
from harness.core.models import MODELS, style
from harness.core.ops import OPS, Pass

DIGESTS = {"content": "9fc8c01e6b926caa", "style": "d0475f4326602f5b"}


def test_the_made_pair_is_the_same_bytes_everywhere():
    pair = images.made(64)
    assert {kind: (array.shape, str(array.dtype)) for kind, array in pair.items()} == dict.fromkeys(images.KINDS, ((64, 64, 3), "uint8"))
    digests = {kind: hashlib.sha256(array.tobytes()).hexdigest()[:16] for kind, array in pair.items()}
    assert digests == DIGESTS
    assert pair["content"].std() > 30 and pair["style"].std() > 30  # pictures, not planes


def test_a_pair_survives_json():
    pair = images.made(17)
    again = images.unpacked(json.loads(json.dumps(images.packed(pair))), 17)
    assert all((again[kind] == pair[kind]).all() for kind in images.KINDS)
    with pytest.raises(ValueError):
        images.unpacked(images.packed(pair), 16)


def test_pixels_are_centred_blue_first():
    pixel = np.array([[[200, 130, 0]]], "uint8")
    assert images.centred(pixel).tolist() == [[[-120.0]], [[10.0]], [[80.0]]]


def test_targets_are_features_of_the_content_and_gram_matrices_of_the_style():
    graph = MODELS["style-vgg"].build(16)
    weights = data.weights(graph, 1)
    pair = {kind: images.centred(image) for kind, image in images.made(16).items()}
    targets = style.targets(graph, weights, pair)
    assert list(targets) == [spec.name for spec in graph.inputs]
    assert all(targets[spec.name].shape == (1, *spec.shape) and targets[spec.name].dtype == "float32" for spec in graph.inputs)
    content = reference.values(graph, dict(weights, **{"image.value": pair["content"]}), ["conv3_3"])["conv3_3"]
    assert (targets["content2"] == content).all()
    features = reference.values(graph, dict(weights, **{"image.value": pair["style"]}), ["conv1_2"])["conv1_2"]
    gram, _ = OPS["gram"].forward("gram", {}, [features], {}, Pass(train=False))
    np.testing.assert_allclose(targets["style0"], gram, rtol=1e-6)


def test_training_brings_the_image_nearer():
    graph = MODELS["style-vgg"].build(16)
    weights = data.weights(graph, 1)
    batch = style.targets(graph, weights, {kind: images.centred(image) for kind, image in images.made(16).items()})
    losses, state = [], reference.START
    for _ in range(5):
        step = reference.train_step(graph, weights, batch, MODELS["style-vgg"].optimizer, state)
        weights, state = step.weights, step.state
        losses.append(step.loss)
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]
    image = weights["image.value"]
    assert image.min() >= -120 and image.max() <= 136
