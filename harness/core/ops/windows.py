"""Sliding windows over padded maps, shared by convolution and pooling."""

from typing import Tuple

import numpy as np

from harness.core.errors import GeometryError

Pair = Tuple[int, int]
Pads = Tuple[int, int, int, int]  # top, left, bottom, right


def out_size(node_op: str, size: int, kernel: int, stride: int, before: int, after: int, ceil: bool = False) -> int:
    """Return how many windows fit. With ``ceil`` a last partial window counts if it starts inside the map or its
    leading pad, the rule that Caffe, PyTorch and MXNet share."""
    room = size + before + after - kernel
    if room < 0:
        raise GeometryError("%s: kernel %d is larger than the padded map %d" % (node_op, kernel, size + before + after))
    count = room // stride + 1
    if ceil and room % stride and count * stride < size + before:
        count += 1
    return count


def padded(x: np.ndarray, pads: Pads, value: float = 0.0) -> np.ndarray:
    """Pad the last two axes of (N, C, H, W); negative padding is not allowed."""
    top, left, bottom, right = pads
    if not any(pads):
        return x
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), mode="constant", constant_values=value)


def windows(x: np.ndarray, kernel: Pair, stride: Pair, out: Pair) -> np.ndarray:
    """Return a read-only view (N, C, kh, kw, oh, ow) of ``x`` (N, C, H, W)."""
    n, c, h, w = x.strides
    shape = x.shape[:2] + kernel + out
    strides = (n, c, h, w, h * stride[0], w * stride[1])
    return np.lib.stride_tricks.as_strided(x, shape=shape, strides=strides, writeable=False)


def scatter(grads: np.ndarray, shape: Tuple[int, ...], stride: Pair, pads: Pads) -> np.ndarray:
    """Add window gradients (N, C, kh, kw, oh, ow) back into a map whose unpadded shape is ``shape``."""
    top, left, bottom, right = pads
    kh, kw, oh, ow = grads.shape[2:]
    whole = np.zeros(shape[:2] + (shape[2] + top + bottom, shape[3] + left + right), dtype=grads.dtype)
    for i in range(kh):
        for j in range(kw):
            rows = slice(i, i + stride[0] * oh, stride[0])
            columns = slice(j, j + stride[1] * ow, stride[1])
            whole[:, :, rows, columns] += grads[:, :, i, j]
    return whole[:, :, top : top + shape[2], left : left + shape[3]]
