"""What a model file provides, and the few composites that several of them share."""

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from harness.core.graph import Graph, GraphBuilder
from harness.core.hookspecs import Optimizer

CLASSES = 1000


class Fixture(NamedTuple):
    """The small problem on which a model's parity is proved: size, batch, and seed of the data.

    The seed is chosen so that no ReLU input lies close to zero (scripts/choose-parity-seeds measures the margins).
    ``build`` makes the same network with fewer units, where the model's own would be too large at any size.
    """

    size: int
    batch: int
    seed: int
    build: Optional[Callable[[int], Graph]] = None


class Model(NamedTuple):
    """A model: ``build(size)`` makes its graph; ``size`` is the published one, in ``size_unit``: pixels of a square image's
    side, tokens of the longest sentence, or "" where samples have no size."""

    name: str
    title: str
    build: Callable[[int], Graph]
    size: int
    unit: str  # what a rate counts: images, tokens, samples
    parity: Fixture
    optimizer: Optimizer = Optimizer()
    size_unit: str = "pixels"
    generates: bool = False  # trains one image with its optimizer's own rate, instead of a network

    def small(self) -> Graph:
        """The graph on which parity is proved."""
        return (self.parity.build or self.build)(self.parity.size)


def conv(
    b: GraphBuilder, name: str, x: str, filters: int, kernel: int, stride: int = 1, pad: int = 0, groups: int = 1, bias: bool = True
) -> str:
    """Add a square convolution, padded alike on all sides."""
    geometry: Dict[str, Any] = {"kernel": (kernel, kernel), "stride": (stride, stride), "pads": (pad, pad, pad, pad)}
    return b.add("conv2d", name, x, filters=filters, groups=groups, bias=bias, **geometry)


def conv_relu(b: GraphBuilder, name: str, x: str, filters: int, kernel: int, stride: int = 1, pad: int = 0) -> str:
    return b.add("relu", name + "_relu", conv(b, name, x, filters, kernel, stride, pad))


def batch_norm(b: GraphBuilder, name: str, x: str) -> str:
    return b.add("batch_norm", name, x, epsilon=1e-5, momentum=0.1)


def max_pool(b: GraphBuilder, name: str, x: str, kernel: int, stride: int, pad: int = 0, ceil: bool = False) -> str:
    return b.add("max_pool2d", name, x, kernel=(kernel, kernel), stride=(stride, stride), pads=(pad, pad, pad, pad), ceil=ceil)


def image_classifier(name: str, size: int) -> Tuple[GraphBuilder, str]:
    """Start a network on RGB images."""
    b = GraphBuilder(name)
    return b, b.input("image", (3, size, size))


def with_loss(b: GraphBuilder, logits: str) -> Graph:
    """End a network with softmax cross-entropy on class labels."""
    labels = b.input("labels", (), kind="index", high=b.shape(logits)[0])
    loss = b.add("softmax_cross_entropy", "loss", logits, labels)
    return b.finish(outputs=(logits,), loss=loss)
