"""Neutral ops in PyTorch: one function an op, each returning the module or function that does it.

A function gets the node, its parameters by role (numpy, neutral layout) and whether it may overwrite its input.
"""

import operator
from typing import Any, Callable, Dict

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.core import Node, Unsupported
from harness_pytorch import sequence

Params = Dict[str, np.ndarray]

# Where a module keeps the tensor of a neutral role.
TENSORS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "mean": "running_mean", "var": "running_var"}
TENSORS.update({role: role for role in ("query", "key", "vector", "scale", "value")}, table="weight")
for _role in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
    TENSORS.update({_role: "onward.%s_l0" % _role, _role + "_reverse": "back.%s_l0" % _role})


def _load(module: nn.Module, params: Params) -> nn.Module:
    tensors = {TENSORS[role]: torch.tensor(array) for role, array in params.items()}
    module.to(next(iter(tensors.values())).dtype)  # before loading, which would round float64
    module.load_state_dict(tensors, strict=False)
    return module


def _symmetric(node: Node) -> Any:
    top, left, bottom, right = node.attrs["pads"]
    if (top, left) != (bottom, right):
        raise Unsupported(node.op, "padding that differs between two sides is not lowered")
    return (top, left)


def add(node: Node, params: Params, overwrite: bool) -> Callable[..., Any]:
    return operator.iadd if overwrite else operator.add


def attention(node: Node, params: Params, overwrite: bool) -> nn.Module:
    (units, query), memory = params["query"].shape, params["key"].shape[1]
    return _load(sequence.Attention(query, memory, units), params)


def avg_pool2d(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.AvgPool2d(node.attrs["kernel"], node.attrs["stride"])


def batch_norm(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return _load(nn.BatchNorm2d(len(params["gamma"]), eps=node.attrs["epsilon"], momentum=node.attrs["momentum"]), params)


def bilstm(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return _load(sequence.Bilstm(params["weight_ih"].shape[1], node.attrs["units"]), params)


def _side_by_side(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.cat((a, b), dim=-1)


def concat(node: Node, params: Params, overwrite: bool) -> Callable[..., Any]:
    return _side_by_side


def conv2d(node: Node, params: Params, overwrite: bool) -> nn.Module:
    filters, channels = params["weight"].shape[:2]
    groups = node.attrs["groups"]
    module = nn.Conv2d(
        channels * groups,
        filters,
        node.attrs["kernel"],
        node.attrs["stride"],
        _symmetric(node),
        groups=groups,
        bias=node.attrs["bias"],
    )
    return _load(module, params)


def dense(node: Node, params: Params, overwrite: bool) -> nn.Module:
    units, inputs = params["weight"].shape
    return _load(nn.Linear(inputs, units, bias=node.attrs["bias"]), params)


def dropout(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Dropout(node.attrs["rate"])


def embedding(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Embedding.from_pretrained(torch.tensor(params["table"]), freeze=False)


def flatten(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Flatten()


def global_avg_pool(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _gram(x: torch.Tensor) -> torch.Tensor:
    flat = x.flatten(2)
    return torch.bmm(flat, flat.transpose(1, 2)).flatten(1) / (flat.shape[1] * flat.shape[2])


def gram(node: Node, params: Params, overwrite: bool) -> Callable[..., Any]:
    return _gram


def lstm(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return _load(sequence.Lstm(params["weight_ih"].shape[1], node.attrs["units"]), params)


def max_pool2d(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.MaxPool2d(node.attrs["kernel"], node.attrs["stride"], _symmetric(node), ceil_mode=node.attrs["ceil"])


def mul(node: Node, params: Params, overwrite: bool) -> Callable[..., Any]:
    return operator.mul


def relu(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.ReLU(inplace=overwrite)


def sequence_cross_entropy(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return sequence.SequenceCrossEntropy(node.attrs["smoothing"])


def _binary_cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype))


def sigmoid_cross_entropy(node: Node, params: Params, overwrite: bool) -> Callable[..., Any]:
    return _binary_cross_entropy


def softmax_cross_entropy(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.CrossEntropyLoss()


class SquaredError(nn.Module):
    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return self.weight * functional.mse_loss(x, target)


def squared_error(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return SquaredError(node.attrs["weight"])


class Variable(nn.Module):
    def __init__(self, value: np.ndarray) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))

    def forward(self) -> torch.Tensor:
        return self.value[None]


def variable(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return Variable(params["value"])
