"""The native twin: ResNet-50 v1.5 as a Paddle user writes it, to measure what lowering from the graph costs."""

from typing import Any, Dict, List, Tuple

import numpy as np
import paddle
from paddle import nn

from harness.core import BuildRequest, Graph, Unsupported
from harness_paddlepaddle.adapter import Param, Session, configure, prepare


class Bottleneck(nn.Layer):
    def __init__(self, channels: int, width: int, stride: int, momentum: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(channels, width, 1, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(width, momentum=momentum)
        self.conv2 = nn.Conv2D(width, width, 3, stride, 1, bias_attr=False)
        self.bn2 = nn.BatchNorm2D(width, momentum=momentum)
        self.conv3 = nn.Conv2D(width, 4 * width, 1, bias_attr=False)
        self.bn3 = nn.BatchNorm2D(4 * width, momentum=momentum)
        self.relu = nn.ReLU()
        self.projects = stride != 1 or channels != 4 * width
        if self.projects:
            self.down_conv = nn.Conv2D(channels, 4 * width, 1, stride, bias_attr=False)
            self.down_bn = nn.BatchNorm2D(4 * width, momentum=momentum)

    def forward(self, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.projects:
            x = self.down_bn(self.down_conv(x))
        return self.relu(y + x)


class ResNet50(nn.Layer):
    def __init__(self, momentum: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(3, 64, 7, 2, 3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(64, momentum=momentum)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2D(3, 2, 1)
        channels = 64
        for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
            blocks = []
            for index in range(count):
                blocks.append(Bottleneck(channels, width, 2 if stage > 1 and index == 0 else 1, momentum))
                channels = 4 * width
            self.add_sublayer("layer%d" % stage, nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc = nn.Linear(channels, 1000)

    def forward(self, x: Any) -> Any:
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(paddle.flatten(self.avgpool(x), 1))


class WithLoss(nn.Layer):
    """The model and its loss in one layer, as the session wants them."""

    def __init__(self, model: nn.Layer) -> None:
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()

    def forward(self, inputs: List[Any]) -> Tuple[Any, ...]:
        logits = self.model(inputs[0])
        return (logits, self.loss(logits, inputs[1])) if self.training else (logits,)


def norm_momentum(graph: Graph) -> float:
    """Return the share of the old value that stays, as Paddle counts it."""
    return 1 - next(node.attrs["momentum"] for node in graph.nodes if node.op == "batch_norm")


def build_native(graph: Graph, weights: Dict[str, np.ndarray], request: BuildRequest) -> Session:
    """Return a session of the twin with the neutral weights, whose names follow the same tree."""
    if graph.name != "resnet50":
        raise Unsupported(graph.name, "the native twin is ResNet-50")
    configure(request)
    model = ResNet50(norm_momentum(graph))
    layers = dict(model.named_sublayers())
    params = {name: Param.of(layers[name.rpartition(".")[0]], spec.role) for name, spec in graph.params.items()}
    return prepare(WithLoss(model), params, graph, weights, request)
