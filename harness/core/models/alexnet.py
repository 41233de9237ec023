"""AlexNet in its single-tower "one weird trick" form (Krizhevsky 2014, arXiv 1404.5997), without LRN or groups."""

from harness.core.graph import Graph
from harness.core.models.base import CLASSES, Fixture, Model, conv_relu, image_classifier, max_pool, with_loss


def build(size: int) -> Graph:
    b, x = image_classifier("alexnet", size)
    x = max_pool(b, "pool1", conv_relu(b, "conv1", x, 64, 11, stride=4, pad=2), 3, 2)
    x = max_pool(b, "pool2", conv_relu(b, "conv2", x, 192, 5, pad=2), 3, 2)
    x = conv_relu(b, "conv3", x, 384, 3, pad=1)
    x = conv_relu(b, "conv4", x, 256, 3, pad=1)
    x = max_pool(b, "pool5", conv_relu(b, "conv5", x, 256, 3, pad=1), 3, 2)
    x = b.add("flatten", "flatten", x)
    for number in (6, 7):
        x = b.add("dropout", "drop%d" % number, x, rate=0.5)
        x = b.add("dense", "fc%d" % number, x, units=4096, bias=True)
        x = b.add("relu", "fc%d_relu" % number, x)
    return with_loss(b, b.add("dense", "fc8", x, units=CLASSES, bias=True))


MODELS = (Model("alexnet", "AlexNet", build, 224, "images", Fixture(96, 4, 12)),)
