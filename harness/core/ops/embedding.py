import numpy as np

from harness.core.ops.base import Op, ParamDef


class Embedding(Op):
    """Rows of a table by number. The gradient is that of the whole table: zero in rows that nobody asked for."""

    name = "embedding"
    inputs = ("ids",)
    attrs = ("rows", "width")

    def infer_shape(self, attrs, shapes):
        return shapes[0] + (attrs["width"],)

    def params(self, attrs, shapes):
        return [ParamDef("table", (attrs["rows"], attrs["width"]))]

    def forward(self, node, attrs, xs, params, run):
        return params["table"][xs[0]], (xs[0], params["table"])

    def backward(self, attrs, saved, grad):
        ids, table = saved
        table_grad = np.zeros_like(table)
        np.add.at(table_grad, ids, grad)
        return [None], {"table": table_grad}
