"""VGG-16 and VGG-19 (configurations D and E of Simonyan and Zisserman, arXiv 1409.1556), without batch normalisation."""

from harness.core.graph import Graph
from harness.core.models.base import CLASSES, Fixture, Model, conv_relu, image_classifier, max_pool, with_loss


def build(depth: int, size: int) -> Graph:
    repeats = {16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}[depth]
    b, x = image_classifier("vgg%d" % depth, size)
    for block, (count, filters) in enumerate(zip(repeats, (64, 128, 256, 512, 512)), start=1):
        for index in range(1, count + 1):
            x = conv_relu(b, "conv%d_%d" % (block, index), x, filters, 3, pad=1)
        x = max_pool(b, "pool%d" % block, x, 2, 2)
    x = b.add("flatten", "flatten", x)
    for number in (6, 7):
        x = b.add("dense", "fc%d" % number, x, units=4096, bias=True)
        x = b.add("relu", "fc%d_relu" % number, x)
        x = b.add("dropout", "drop%d" % number, x, rate=0.5)
    return with_loss(b, b.add("dense", "fc8", x, units=CLASSES, bias=True))


MODELS = (
    Model("vgg16", "VGG-16", lambda size: build(16, size), 224, "images", Fixture(64, 4, 13)),
    Model("vgg19", "VGG-19", lambda size: build(19, size), 224, "images", Fixture(64, 4, 3)),
)
