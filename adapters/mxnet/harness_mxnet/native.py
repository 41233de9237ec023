"""The native twin: ResNet-50 v1.5 as a Gluon user writes it, to measure what lowering from the graph costs."""

from typing import Any, Dict

import numpy as np
from mxnet.gluon import HybridBlock, loss, nn

from harness.core import BuildRequest, Graph, Unsupported
from harness_mxnet import DTYPES
from harness_mxnet.adapter import Session, check_arithmetic, load, prepare

# Gluon's names of a layer's tensors by the role of the neutral parameter.
TENSORS = {"weight": "weight", "bias": "bias", "gamma": "gamma", "beta": "beta", "mean": "running_mean", "var": "running_var"}


class Bottleneck(HybridBlock):
    def __init__(self, channels: int, width: int, stride: int, momentum: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(width, 1, in_channels=channels, use_bias=False)
        self.bn1 = nn.BatchNorm(in_channels=width, momentum=momentum)
        self.conv2 = nn.Conv2D(width, 3, stride, 1, in_channels=width, use_bias=False)
        self.bn2 = nn.BatchNorm(in_channels=width, momentum=momentum)
        self.conv3 = nn.Conv2D(4 * width, 1, in_channels=width, use_bias=False)
        self.bn3 = nn.BatchNorm(in_channels=4 * width, momentum=momentum)
        self.relu = nn.Activation("relu")
        if stride != 1 or channels != 4 * width:
            self.down_conv: Any = nn.Conv2D(4 * width, 1, stride, in_channels=channels, use_bias=False)
            self.down_bn: Any = nn.BatchNorm(in_channels=4 * width, momentum=momentum)
        else:
            self.down_conv = None

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.down_conv is not None:
            x = self.down_bn(self.down_conv(x))
        return self.relu(y + x)


class ResNet50(HybridBlock):
    def __init__(self, momentum: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(64, 7, 2, 3, in_channels=3, use_bias=False)
        self.bn1 = nn.BatchNorm(in_channels=64, momentum=momentum)
        self.relu = nn.Activation("relu")
        self.pool = nn.MaxPool2D(3, 2, 1)
        channels = 64
        for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=1):
            blocks = nn.HybridSequential()
            for index in range(count):
                blocks.add(Bottleneck(channels, width, 2 if stage > 1 and index == 0 else 1, momentum))
                channels = 4 * width
            setattr(self, "layer%d" % stage, blocks)
        self.avgpool = nn.GlobalAvgPool2D()
        self.fc = nn.Dense(1000, in_units=channels)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x))


class WithLoss(HybridBlock):
    """The model and its loss in one block, as the session wants them."""

    def __init__(self, model: HybridBlock) -> None:
        super().__init__()
        self.model = model
        self.loss = loss.SoftmaxCrossEntropyLoss()

    def hybrid_forward(self, F: Any, image: Any, labels: Any) -> Any:
        logits = self.model(image)
        return logits, F.mean(self.loss(logits, labels))


def norm_momentum(graph: Graph) -> float:
    """Return the share of the old value that stays, as Gluon counts it."""
    return 1 - next(node.attrs["momentum"] for node in graph.nodes if node.op == "batch_norm")


def build_native(graph: Graph, weights: Dict[str, np.ndarray], request: BuildRequest) -> Session:
    """Return a session of the twin with the neutral weights, whose names follow the same tree."""
    if graph.name != "resnet50":
        raise Unsupported(graph.name, "the native twin is ResNet-50")
    check_arithmetic(request)
    model = ResNet50(norm_momentum(graph))
    model.cast(DTYPES[request.precision])
    tensors = model._collect_params_with_prefix()
    params = {}
    for name, spec in graph.params.items():
        params[name,] = tensors["%s.%s" % (name.rpartition(".")[0], TENSORS[spec.role])]
    load(params, weights, request)
    return prepare(WithLoss(model) if request.mode == "train" else model, params, graph, request)
