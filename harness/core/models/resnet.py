"""ResNet-18, -50 and -101 (He et al., arXiv 1512.03385) in the v1.5 form: a bottleneck strides in its 3x3 convolution."""

from harness.core.graph import Graph, GraphBuilder
from harness.core.models.base import CLASSES, Fixture, Model, batch_norm, conv, image_classifier, max_pool, with_loss

LAYERS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


def _conv_bn(b: GraphBuilder, name: str, number: str, x: str, filters: int, kernel: int, stride: int = 1) -> str:
    x = conv(b, "%sconv%s" % (name, number), x, filters, kernel, stride, pad=kernel // 2, bias=False)
    return batch_norm(b, "%sbn%s" % (name, number), x)


def _block(b: GraphBuilder, name: str, x: str, width: int, stride: int, bottleneck: bool) -> str:
    plan = [(width, 1, 1), (width, 3, stride), (4 * width, 1, 1)] if bottleneck else [(width, 3, stride), (width, 3, 1)]
    shortcut, last = x, len(plan)
    for number, (filters, kernel, step) in enumerate(plan, start=1):
        x = _conv_bn(b, name + ".", str(number), x, filters, kernel, step)
        if number < last:
            x = b.add("relu", "%s.relu%d" % (name, number), x)
    if b.shape(shortcut) != b.shape(x):
        shortcut = _conv_bn(b, name + ".down_", "", shortcut, plan[-1][0], 1, stride)
    return b.add("relu", name + ".relu", b.add("add", name + ".add", x, shortcut))


def build(depth: int, size: int) -> Graph:
    b, x = image_classifier("resnet%d" % depth, size)
    x = b.add("relu", "relu1", _conv_bn(b, "", "1", x, 64, 7, stride=2))
    x = max_pool(b, "pool1", x, 3, 2, pad=1)
    for stage, count in enumerate(LAYERS[depth], start=1):
        for index in range(count):
            stride = 2 if stage > 1 and index == 0 else 1
            x = _block(b, "layer%d.%d" % (stage, index), x, 32 * 2**stage, stride, bottleneck=depth >= 50)
    x = b.add("global_avg_pool", "pool5", x)
    return with_loss(b, b.add("dense", "fc", x, units=CLASSES, bias=True))


MODELS = (
    Model("resnet18", "ResNet-18", lambda size: build(18, size), 224, "images", Fixture(64, 4, 1)),
    Model("resnet50", "ResNet-50", lambda size: build(50, size), 224, "images", Fixture(64, 4, 19)),
    Model("resnet101", "ResNet-101", lambda size: build(101, size), 224, "images", Fixture(64, 4, 5)),
)
