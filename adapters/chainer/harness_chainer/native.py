"""The native twin: ResNet-50 v1.5 as a Chainer user writes it, to measure what lowering from the graph costs."""

from typing import Any, Dict, Tuple

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

from harness.core import BuildRequest, Graph, Unsupported
from harness_chainer.adapter import DTYPES, TENSORS, Session, check, prepare


def norm(channels: int, decay: float) -> chainer.Link:
    return L.BatchNormalization(channels, decay=decay, eps=1e-5)


class Bottleneck(chainer.Chain):
    def __init__(self, channels: int, width: int, stride: int, decay: float) -> None:
        super().__init__()
        self.reshapes = stride != 1 or channels != 4 * width
        with self.init_scope():
            self.conv1 = L.Convolution2D(channels, width, 1, nobias=True)
            self.bn1 = norm(width, decay)
            self.conv2 = L.Convolution2D(width, width, 3, stride, 1, nobias=True)
            self.bn2 = norm(width, decay)
            self.conv3 = L.Convolution2D(width, 4 * width, 1, nobias=True)
            self.bn3 = norm(4 * width, decay)
            if self.reshapes:
                self.down_conv = L.Convolution2D(channels, 4 * width, 1, stride, nobias=True)
                self.down_bn = norm(4 * width, decay)

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.reshapes:
            x = self.down_bn(self.down_conv(x))
        return F.relu(y + x)


class ResNet50(chainer.Chain):
    def __init__(self, decay: float) -> None:
        super().__init__()
        channels = 64
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 64, 7, 2, 3, nobias=True)
            self.bn1 = norm(64, decay)
            for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
                blocks = chainer.Sequential()
                for index in range(count):
                    blocks.append(Bottleneck(channels, width, 2 if stage > 1 and index == 0 else 1, decay))
                    channels = 4 * width
                setattr(self, "layer%d" % stage, blocks)
            self.fc = L.Linear(channels, 1000)

    def forward(self, x: Any) -> Any:
        x = F.max_pooling_2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1, cover_all=False)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = F.average_pooling_2d(x, x.shape[2:])
        return self.fc(F.reshape(x, (len(x), -1)))


class WithLoss(chainer.Chain):
    """The model and its loss in one chain, as the session wants them."""

    def __init__(self, model: chainer.Chain) -> None:
        super().__init__()
        with self.init_scope():
            self.model = model

    def forward(self, image: Any, labels: Any = None) -> Tuple[Any, ...]:
        logits = self.model(image)
        return (logits,) if labels is None else (logits, F.softmax_cross_entropy(logits, labels))


def norm_decay(graph: Graph) -> float:
    """Return the share of the old value that stays, as Chainer counts it."""
    return 1 - next(node.attrs["momentum"] for node in graph.nodes if node.op == "batch_norm")


def find(model: chainer.Link, path: str) -> chainer.Link:
    """Return the link at a dotted path; a number counts the blocks of a stage."""
    for step in path.split("."):
        model = model[int(step)] if step.isdigit() else getattr(model, step)
    return model


def build_native(graph: Graph, weights: Dict[str, np.ndarray], request: BuildRequest) -> Session:
    """Return a session of the twin with the neutral weights, whose names follow the same tree."""
    if graph.name != "resnet50":
        raise Unsupported(graph.name, "the native twin is ResNet-50")
    check(request)
    with chainer.using_config("dtype", DTYPES[request.precision]):
        model = ResNet50(norm_decay(graph))
    tensors = {}
    for name, spec in graph.params.items():
        link, attribute = find(model, name.rpartition(".")[0]), TENSORS.get(spec.role, spec.role)
        tensor = getattr(link, attribute)
        (tensor.array if isinstance(tensor, chainer.Parameter) else tensor)[...] = weights[name]
        tensors[name] = (link, attribute)
    return prepare(WithLoss(model), tensors, graph, request)
