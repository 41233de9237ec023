from harness.core.errors import HarnessError
from harness.core.ops.base import Op


class Dropout(Op):
    """Inverted dropout: in training each element is zeroed with probability ``rate`` and the rest scaled by 1/(1-rate).

    Frameworks draw different random numbers, so the reference only defines rate 0 and inference; parity runs there.
    """

    name = "dropout"
    attrs = ("rate",)

    def infer_shape(self, attrs, shapes):
        return shapes[0]

    def forward(self, node, attrs, xs, params, run):
        if run.train and attrs["rate"] > 0:
            raise HarnessError("reference: dropout '%s' cannot be compared in training; use Graph.without_dropout()" % node)
        return xs[0], None

    def backward(self, attrs, saved, grad):
        return [grad], {}
