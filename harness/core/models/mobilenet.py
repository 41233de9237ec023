"""MobileNet v1, width 1.0 (Howard et al., arXiv 1704.04861): 13 pairs of depthwise and pointwise convolution."""

from harness.core.graph import Graph, GraphBuilder
from harness.core.models.base import CLASSES, Fixture, Model, batch_norm, conv, image_classifier, with_loss

PAIRS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)) + ((512, 1),) * 5 + ((1024, 2), (1024, 1))


def _conv_bn_relu(b: GraphBuilder, name: str, x: str, filters: int, kernel: int, stride: int, groups: int) -> str:
    x = conv(b, name, x, filters, kernel, stride, pad=kernel // 2, groups=groups, bias=False)
    return b.add("relu", name + "_relu", batch_norm(b, name + "_bn", x))


def build(size: int) -> Graph:
    b, x = image_classifier("mobilenet", size)
    x = _conv_bn_relu(b, "conv1", x, 32, 3, 2, 1)
    for number, (filters, stride) in enumerate(PAIRS, start=1):
        channels = b.shape(x)[0]
        x = _conv_bn_relu(b, "depthwise%d" % number, x, channels, 3, stride, channels)
        x = _conv_bn_relu(b, "pointwise%d" % number, x, filters, 1, 1, 1)
    x = b.add("global_avg_pool", "pool", x)
    return with_loss(b, b.add("dense", "fc", x, units=CLASSES, bias=True))


MODELS = (Model("mobilenet", "MobileNet", build, 224, "images", Fixture(64, 4, 13)),)
