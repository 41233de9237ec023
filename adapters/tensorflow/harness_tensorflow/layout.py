"""How neutral arrays lie in TensorFlow: maps NHWC, convolution weights HWIO, matrices (in, out)."""

from typing import NamedTuple, Tuple

import numpy as np
import tensorflow as tf

Shape = Tuple[int, ...]


class Layout(NamedTuple):
    """A neutral array, seen as ``view`` with its axes in the order ``axes``, is the framework's array of ``shape``."""

    neutral: Shape
    view: Shape
    axes: Shape
    shape: Shape

    def inward(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(self.view).transpose(self.axes).reshape(self.shape)

    def outward(self, array: np.ndarray) -> np.ndarray:
        moved = tuple(self.view[axis] for axis in self.axes)
        return array.reshape(moved).transpose(np.argsort(self.axes)).reshape(self.neutral)


class Weight(NamedTuple):
    """A variable and the layout of its values."""

    variable: tf.Variable
    layout: Layout


def plain_layout(shape: Shape) -> Layout:
    """As it is: vectors and tables."""
    return Layout(shape, shape, tuple(range(len(shape))), shape)


def map_layout(shape: Shape) -> Layout:
    """(N, C, H, W) to NHWC."""
    batch, channels, height, width = shape
    return Layout(shape, shape, (0, 2, 3, 1), (batch, height, width, channels))


def image_layout(shape: Shape) -> Layout:
    """(C, H, W) to HWC."""
    channels, height, width = shape
    return Layout(shape, shape, (1, 2, 0), (height, width, channels))


def flat_layout(batch: int, source: Shape) -> Layout:
    """(N, C*H*W) to (N, H*W*C) for a flattened map of the neutral shape ``source``."""
    size = int(np.prod(source))
    return Layout((batch, size), (batch,) + source, (0, 2, 3, 1), (batch, size))


def conv_layout(shape: Shape) -> Layout:
    """OIHW to HWIO."""
    filters, channels, rows, columns = shape
    return Layout(shape, shape, (2, 3, 1, 0), (rows, columns, channels, filters))


def depthwise_layout(shape: Shape, groups: int) -> Layout:
    """(channels * multiplier, 1, H, W) to (H, W, channels, multiplier)."""
    filters, _, rows, columns = shape
    view = (groups, filters // groups, rows, columns)
    return Layout(shape, view, (2, 3, 0, 1), (rows, columns) + view[:2])


def dense_layout(shape: Shape, source: Shape = ()) -> Layout:
    """(out, in) to (in, out); where ``source`` is the shape of a flattened map, the inputs come in NHWC order."""
    units, inputs = shape
    if len(source) == 3:
        return Layout(shape, (units,) + source, (2, 3, 1, 0), (inputs, units))
    return Layout(shape, shape, (1, 0), (inputs, units))
