"""Network in Network for ImageNet (Lin et al., arXiv 1312.4400), with the ceil-mode pooling of its Caffe model."""

from harness.core.graph import Graph
from harness.core.models.base import CLASSES, Fixture, Model, conv_relu, image_classifier, max_pool, with_loss


def build(size: int) -> Graph:
    b, x = image_classifier("nin", size)
    x = conv_relu(b, "conv1", x, 96, 11, stride=4)
    x = conv_relu(b, "cccp2", conv_relu(b, "cccp1", x, 96, 1), 96, 1)
    x = max_pool(b, "pool1", x, 3, 2, ceil=True)
    x = conv_relu(b, "conv2", x, 256, 5, pad=2)
    x = conv_relu(b, "cccp4", conv_relu(b, "cccp3", x, 256, 1), 256, 1)
    x = max_pool(b, "pool2", x, 3, 2, ceil=True)
    x = conv_relu(b, "conv3", x, 384, 3, pad=1)
    x = conv_relu(b, "cccp6", conv_relu(b, "cccp5", x, 384, 1), 384, 1)
    x = max_pool(b, "pool3", x, 3, 2, ceil=True)
    x = b.add("dropout", "drop", x, rate=0.5)
    x = conv_relu(b, "conv4", x, 1024, 3, pad=1)
    x = conv_relu(b, "cccp8", conv_relu(b, "cccp7", x, 1024, 1), CLASSES, 1)
    return with_loss(b, b.add("global_avg_pool", "pool4", x))


MODELS = (Model("nin", "NIN", build, 224, "images", Fixture(96, 4, 0)),)
