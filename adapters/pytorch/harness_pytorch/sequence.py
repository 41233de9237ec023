"""What sequences need beyond single layers of ``torch.nn``: recurrence by lengths, attention, and a loss that skips padding."""

import torch
from torch import nn
from torch.nn import functional


def counted(length: torch.Tensor, steps: int) -> torch.Tensor:
    """Return which of ``steps`` positions of each sample count, as (batch, steps)."""
    return torch.arange(steps, device=length.device) < length[:, None]


class Lstm(nn.Module):
    """One LSTM layer, for its outputs alone."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(inputs, units, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.onward(x)[0]


class Bilstm(nn.Module):
    """An LSTM layer in each direction, the backward one on a mirror image of each sample's own steps.

    The usual way is ``pack_padded_sequence``, but it wants the lengths on the host, and on CPUs it leaves oneDNN's kernel
    for a loop over steps that takes 2 to 3.5 times as long.
    """

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(inputs, units, batch_first=True)
        self.back = nn.LSTM(inputs, units, batch_first=True)

    def forward(self, x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        batch, steps = x.shape[:2]
        step = torch.arange(steps, device=x.device)
        there = step < length[:, None]
        mirror = torch.where(there, length[:, None] - 1 - step, step)
        rows = (mirror + steps * torch.arange(batch, device=x.device)[:, None]).flatten()
        back = _pick(self.back(_pick(x, rows))[0], rows)  # a mirror is its own inverse
        return torch.cat((self.onward(x)[0], back), dim=2) * there[:, :, None]


def _pick(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Return ``x`` with its steps, counted through the batch, in the order of ``rows``."""
    return x.flatten(0, 1).index_select(0, rows).view(x.shape)


class Attention(nn.Module):
    """Normalised additive attention; parameters are named as the neutral ones."""

    def __init__(self, query: int, memory: int, units: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(units, query))
        self.key = nn.Parameter(torch.empty(units, memory))
        self.vector = nn.Parameter(torch.empty(units))
        self.scale = nn.Parameter(torch.empty(1))
        self.bias = nn.Parameter(torch.empty(units))

    def forward(self, query: torch.Tensor, memory: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        queries, keys = functional.linear(query, self.query, self.bias), functional.linear(memory, self.key)
        squashed = (queries[:, :, None] + keys[:, None]).tanh_()  # in place: no gradient needs the sum
        scores = squashed @ (self.vector * (self.scale / torch.linalg.vector_norm(self.vector)))
        padding = ~counted(length, memory.shape[1])
        return scores.masked_fill(padding[:, None], float("-inf")).softmax(dim=2) @ memory


class SequenceCrossEntropy(nn.Module):
    """Label-smoothed cross-entropy, summed over the positions that count and divided by the batch."""

    ignored = -100  # no class has this number

    def __init__(self, smoothing: float) -> None:
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits: torch.Tensor, labels: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        wanted = labels.masked_fill(~counted(length, labels.shape[1]), self.ignored)
        total = functional.cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=self.ignored, reduction="sum", label_smoothing=self.smoothing
        )
        return total / len(logits)
