import numpy as np

from harness.core.ops.base import Op


class Gram(Op):
    """Products of every two channels of a map, summed over its positions and divided by its size: (C, H, W) to (C * C), row by row.

    The style of an image in Gatys et al. (arXiv 1508.06576), with the scale C * H * W. A vector, because frameworks may take a
    matrix for a sequence.
    """

    name = "gram"

    def infer_shape(self, attrs, shapes):
        return (shapes[0][0] ** 2,)

    def macs(self, attrs, shapes, out):
        channels, height, width = shapes[0]
        return channels * channels * height * width

    def forward(self, node, attrs, xs, params, run):
        flat = xs[0].reshape(xs[0].shape[:2] + (-1,))
        products = np.matmul(flat, flat.transpose(0, 2, 1)) / xs[0][0].size
        return products.reshape(len(flat), -1), xs[0]

    def backward(self, attrs, saved, grad):
        flat = saved.reshape(saved.shape[:2] + (-1,))
        square = grad.reshape(flat.shape[:2] + (-1,))
        both = square + square.transpose(0, 2, 1)
        return [(np.matmul(both, flat) / saved[0].size).reshape(saved.shape)], {}
