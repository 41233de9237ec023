"""The native twin: ResNet-50 v1.5 as a PyTorch user writes it, to measure what lowering from the graph costs."""

from operator import attrgetter
from typing import Any, Dict, Tuple

import numpy as np
import torch
from torch import nn

from harness.core import BuildRequest, Graph, Unsupported
from harness_pytorch.adapter import DTYPES, Session, prepare
from harness_pytorch.lower import TENSORS


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int, momentum: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width, momentum=momentum)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width, momentum=momentum)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width, momentum=momentum)
        self.relu = nn.ReLU(inplace=True)
        if stride != 1 or channels != 4 * width:
            self.down_conv: Any = nn.Conv2d(channels, 4 * width, 1, stride, bias=False)
            self.down_bn: Any = nn.BatchNorm2d(4 * width, momentum=momentum)
        else:
            self.down_conv = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.down_conv is not None:
            x = self.down_bn(self.down_conv(x))
        y += x
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self, momentum: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64, momentum=momentum)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(3, 2, 1)
        channels = 64
        for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
            blocks = []
            for index in range(count):
                blocks.append(Bottleneck(channels, width, 2 if stage > 1 and index == 0 else 1, momentum))
                channels = 4 * width
            self.add_module("layer%d" % stage, nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class WithLoss(nn.Module):
    """The model and its loss in one module, as the session wants them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()

    def forward(self, image: torch.Tensor, labels: Any = None) -> Tuple[torch.Tensor, ...]:
        logits = self.model(image)
        return (logits,) if labels is None else (logits, self.loss(logits, labels))


def norm_momentum(graph: Graph) -> float:
    return next(node.attrs["momentum"] for node in graph.nodes if node.op == "batch_norm")


def build_native(graph: Graph, weights: Dict[str, np.ndarray], request: BuildRequest) -> Session:
    """Return a session of the twin with the neutral weights, whose names follow the same tree."""
    if graph.name != "resnet50":
        raise Unsupported(graph.name, "the native twin is ResNet-50")
    model = ResNet50(norm_momentum(graph)).to(DTYPES[request.precision])
    places = {name: "%s.%s" % (name.rpartition(".")[0], TENSORS[spec.role]) for name, spec in graph.params.items()}
    with torch.no_grad():
        for name, place in places.items():
            attrgetter(place)(model).copy_(torch.as_tensor(weights[name]))
    return prepare(WithLoss(model), {name: "model." + place for name, place in places.items()}, graph, request)
