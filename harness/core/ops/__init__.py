"""The neutral ops, one file each: attributes, shapes, parameters, MACs, and the numpy definition of both directions.

The definition is written for being obviously right, not for speed: every adapter is tested against it.
What can be built from these ops is a composite and belongs into a model file, not here.
"""

from typing import Dict

from harness.core.ops.add import Add
from harness.core.ops.attention import Attention
from harness.core.ops.avg_pool2d import AvgPool2d
from harness.core.ops.base import Op, Pass
from harness.core.ops.batch_norm import BatchNorm
from harness.core.ops.bilstm import Bilstm
from harness.core.ops.concat import Concat
from harness.core.ops.conv2d import Conv2d
from harness.core.ops.dense import Dense
from harness.core.ops.dropout import Dropout
from harness.core.ops.embedding import Embedding
from harness.core.ops.flatten import Flatten
from harness.core.ops.global_avg_pool import GlobalAvgPool
from harness.core.ops.gram import Gram
from harness.core.ops.lstm import Lstm
from harness.core.ops.max_pool2d import MaxPool2d
from harness.core.ops.mul import Mul
from harness.core.ops.relu import Relu
from harness.core.ops.sequence_cross_entropy import SequenceCrossEntropy
from harness.core.ops.sigmoid_cross_entropy import SigmoidCrossEntropy
from harness.core.ops.softmax_cross_entropy import SoftmaxCrossEntropy
from harness.core.ops.squared_error import SquaredError
from harness.core.ops.variable import Variable

OPS: Dict[str, Op] = {
    op.name: op
    for op in (
        Add(),
        Attention(),
        AvgPool2d(),
        BatchNorm(),
        Bilstm(),
        Concat(),
        Conv2d(),
        Dense(),
        Dropout(),
        Embedding(),
        Flatten(),
        GlobalAvgPool(),
        Gram(),
        Lstm(),
        MaxPool2d(),
        Mul(),
        Relu(),
        SequenceCrossEntropy(),
        SigmoidCrossEntropy(),
        SoftmaxCrossEntropy(),
        SquaredError(),
        Variable(),
    )
}

__all__ = ["OPS", "Op", "Pass"]
