"""Neutral ops in PyTorch: one function an op, each returning the module or function that does it.

A function gets the node, its parameters by role (numpy, neutral layout) and whether it may overwrite its input.
"""

import operator
from typing import Any, Callable, Dict

import numpy as np
import torch
from torch import nn

from harness.core import Node, Unsupported

Params = Dict[str, np.ndarray]


def _load(module: nn.Module, **arrays: np.ndarray) -> nn.Module:
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
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


def batch_norm(node: Node, params: Params, overwrite: bool) -> nn.Module:
    module = nn.BatchNorm2d(len(params["gamma"]), eps=node.attrs["epsilon"], momentum=node.attrs["momentum"])
    return _load(module, weight=params["gamma"], bias=params["beta"], running_mean=params["mean"], running_var=params["var"])


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
    return _load(module, **params)


def dense(node: Node, params: Params, overwrite: bool) -> nn.Module:
    units, inputs = params["weight"].shape
    return _load(nn.Linear(inputs, units, bias=node.attrs["bias"]), **params)


def dropout(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Dropout(node.attrs["rate"])


def flatten(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Flatten()


def global_avg_pool(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


def max_pool2d(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.MaxPool2d(node.attrs["kernel"], node.attrs["stride"], _symmetric(node), ceil_mode=node.attrs["ceil"])


def relu(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.ReLU(inplace=overwrite)


def softmax_cross_entropy(node: Node, params: Params, overwrite: bool) -> nn.Module:
    return nn.CrossEntropyLoss()
