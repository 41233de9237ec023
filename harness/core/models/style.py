"""Image generation after Gatys, Ecker and Bethge (arXiv 1508.06576): one image is trained until its features are like a content
image's and its Gram matrices like a style image's.

Features, pooling, weights of the losses, optimiser and bounds are those of chainer-gogh, a program of 2015 that fits what Kawahata
(arXiv 2109.05783) describes; the paper does not name one. Two things differ. The networks' weights are drawn, since the published
ones are not ours to ship; a step's cost does not depend on them. And they are frozen: that program computed their gradients in every
step and threw them away, a third of the work.
"""

from typing import Dict, List, Tuple

from harness.core.graph import Graph, GraphBuilder
from harness.core.hookspecs import Arrays, Optimizer
from harness.core.models.base import Fixture, Model, conv, conv_relu

CONTENT, STYLE = (0, 0, 1, 1), (1, 1, 1, 1)  # weights of the losses by layer
LAMBDA = 0.005  # of all content against all style
# The mean that is taken off pixels is 120, so these are 0 and 256.
BOUNDS = (-120.0, 136.0)
ADAM = Optimizer("adam", lr=4.0, bounds=BOUNDS)


def _avg_pool(b: GraphBuilder, name: str, x: str, kernel: int, stride: int) -> str:
    return b.add("avg_pool2d", name, x, kernel=(kernel, kernel), stride=(stride, stride))


def _vgg(b: GraphBuilder, x: str) -> List[str]:
    """VGG-16 up to conv4_3; features are the last convolutions of each block, before their ReLU."""
    features = []
    for block, (count, filters) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512)), start=1):
        for index in range(1, count):
            x = conv_relu(b, "conv%d_%d" % (block, index), x, filters, 3, pad=1)
        features.append(conv(b, "conv%d_%d" % (block, count), x, filters, 3, pad=1))
        if block < 4:
            x = _avg_pool(b, "pool%d" % block, b.add("relu", "relu%d" % block, features[-1]), 2, 2)
    return features


def _nin(b: GraphBuilder, x: str) -> List[str]:
    """NIN for ImageNet up to conv4; features are the first layers of each block, after their ReLU."""
    features = [conv_relu(b, "conv1", x, 96, 11, stride=4)]
    x = conv_relu(b, "cccp2", conv_relu(b, "cccp1", features[-1], 96, 1), 96, 1)
    features.append(conv_relu(b, "conv2", _avg_pool(b, "pool1", x, 3, 2), 256, 5, pad=2))
    x = conv_relu(b, "cccp4", conv_relu(b, "cccp3", features[-1], 256, 1), 256, 1)
    features.append(conv_relu(b, "conv3", _avg_pool(b, "pool2", x, 3, 2), 384, 3, pad=1))
    x = conv_relu(b, "cccp6", conv_relu(b, "cccp5", features[-1], 384, 1), 384, 1)
    features.append(conv_relu(b, "conv4", _avg_pool(b, "pool3", x, 3, 2), 1024, 3, pad=1))
    return features


NETWORKS = {"vgg": _vgg, "nin": _nin}


def build(network: str, size: int) -> Graph:
    b = GraphBuilder("style-" + network)
    features = NETWORKS[network](b, b.add("variable", "image", shape=(3, size, size)))
    losses = []
    for number, feature in enumerate(features):
        if CONTENT[number]:
            target = b.input("content%d" % number, b.shape(feature))
            losses.append(b.add("squared_error", "content_loss%d" % number, feature, target, weight=LAMBDA * CONTENT[number]))
        gram = b.add("gram", "gram%d" % number, feature)
        target = b.input("style%d" % number, b.shape(gram))
        losses.append(b.add("squared_error", "style_loss%d" % number, gram, target, weight=STYLE[number] / 4))
    loss = losses[0]
    for number, other in enumerate(losses[1:], start=1):
        loss = b.add("add", "sum%d" % number, loss, other)
    return b.finish(outputs=(features[-1],), loss=loss, trained=("image.value",))


def wanted(graph: Graph) -> Dict[str, Tuple[str, str]]:
    """Which image each input of ``graph`` is computed from, and the node that computes it."""
    nodes = {node.name: node for node in graph.nodes}
    found = {}
    for spec in graph.inputs:
        kind, number = spec.name[:-1], spec.name[-1]
        found[spec.name] = (kind, nodes["%s_loss%s" % (kind, number)].inputs[0])
    return found


def targets(graph: Graph, weights: Arrays, images: Arrays) -> Arrays:
    """Return the inputs of ``graph``: features of ``images["content"]`` and Gram matrices of ``images["style"]``, both (3, size, size)."""
    from harness.core import reference

    nodes = wanted(graph)
    arrays: Arrays = {}
    for kind in ("content", "style"):
        names = [node for image, node in nodes.values() if image == kind]
        values = reference.values(graph, dict(weights, **{"image.value": images[kind]}), names)
        arrays.update((name, values[node]) for name, (image, node) in nodes.items() if image == kind)
    return {spec.name: arrays[spec.name] for spec in graph.inputs}


MODELS = (
    Model("style-vgg", "VGG image generation", lambda size: build("vgg", size), 128, "images", Fixture(16, 1, 11), ADAM, generates=True),
    Model("style-nin", "NIN image generation", lambda size: build("nin", size), 128, "images", Fixture(99, 1, 9), ADAM, generates=True),
)
