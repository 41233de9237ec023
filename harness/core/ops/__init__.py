"""The neutral ops, one file each: attributes, shapes, parameters, MACs, and the numpy definition of both directions.

The definition is written for being obviously right, not for speed: every adapter is tested against it.
What can be built from these ops is a composite and belongs into a model file, not here.
"""

from typing import Dict

from harness.core.ops.add import Add
from harness.core.ops.base import Op, Pass
from harness.core.ops.batch_norm import BatchNorm
from harness.core.ops.conv2d import Conv2d
from harness.core.ops.dense import Dense
from harness.core.ops.dropout import Dropout
from harness.core.ops.flatten import Flatten
from harness.core.ops.global_avg_pool import GlobalAvgPool
from harness.core.ops.max_pool2d import MaxPool2d
from harness.core.ops.relu import Relu
from harness.core.ops.softmax_cross_entropy import SoftmaxCrossEntropy

OPS: Dict[str, Op] = {
    op.name: op
    for op in (
        Add(),
        BatchNorm(),
        Conv2d(),
        Dense(),
        Dropout(),
        Flatten(),
        GlobalAvgPool(),
        MaxPool2d(),
        Relu(),
        SoftmaxCrossEntropy(),
    )
}

__all__ = ["OPS", "Op", "Pass"]
