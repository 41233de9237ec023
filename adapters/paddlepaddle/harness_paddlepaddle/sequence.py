"""The layers that Paddle lacks in the form of a neutral op: recurrence without its states, attention, and a loss over sequences."""

from typing import Any, Optional

import paddle
import paddle.nn.functional as F
from paddle import nn


class Recurrent(nn.Layer):
    """``nn.LSTM``, from zero states, without the states it ends in. Past a sample's length its outputs are zero."""

    def __init__(self, inputs: int, units: int, direction: str) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, units, direction=direction)

    def forward(self, x: Any, length: Optional[Any] = None) -> Any:
        return self.lstm(x, sequence_length=length)[0]


class Attention(nn.Layer):
    """Normalised Bahdanau attention."""

    def __init__(self, units: int, width: int, features: int) -> None:
        super().__init__()
        self.query = self.create_parameter([units, width])
        self.key = self.create_parameter([units, features])
        self.vector = self.create_parameter([units])
        self.scale = self.create_parameter([1])
        self.bias = self.create_parameter([units], is_bias=True)

    def forward(self, query: Any, memory: Any, length: Any) -> Any:
        queries = paddle.matmul(query, self.query, transpose_y=True)
        keys = paddle.matmul(memory, self.key, transpose_y=True) + self.bias  # here, where it is smallest
        hidden = paddle.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))
        # Not paddle.linalg.norm, whose gradient is 5e-13 off in float64.
        direction = self.vector * (self.scale * paddle.rsqrt(paddle.sum(paddle.square(self.vector))))
        padding = F.sequence_mask(length, maxlen=memory.shape[1], dtype="bool").logical_not()
        scores = paddle.matmul(hidden, direction).masked_fill(padding.unsqueeze(1), -float("inf"))
        return paddle.matmul(F.softmax(scores, axis=-1), memory)


class SequenceCrossEntropy(nn.Layer):
    """Label-smoothed cross-entropy, summed over the positions that count and divided by the batch."""

    def __init__(self, smoothing: float) -> None:
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits: Any, labels: Any, length: Any) -> Any:
        # In a static program a Python number times a tensor is a float32, whatever the tensor is; a filled tensor is not.
        right, any_other = (paddle.full([], share, logits.dtype) for share in (1 - self.smoothing, self.smoothing))
        # The logarithm by hand: paddle.logsumexp takes three times as long, and log_softmax fifty times.
        largest = paddle.max(logits, axis=2, keepdim=True).detach()
        log_sum = paddle.log(paddle.sum(paddle.exp(logits - largest), axis=2)) + largest.squeeze(2)
        # These read the logits after the subtraction: if it came last, a static program would do it in place and return
        # exponentials as the model's output.
        wanted = paddle.take_along_axis(logits, labels.unsqueeze(2), axis=2).squeeze(2)
        cost = log_sum - right * wanted - any_other * paddle.mean(logits, axis=2)
        counted = F.sequence_mask(length, maxlen=logits.shape[1], dtype=logits.dtype)
        return paddle.mean(paddle.sum(cost * counted, axis=1))
