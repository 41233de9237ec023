"""NCF in its NeuMF form (He et al., arXiv 1708.05031), with the sizes of MLPerf's recommendation task.

A user and an item meet twice: in a product of embeddings and in a perceptron on embeddings side by side. Users and items
are drawn uniformly; labels are 0 and 1 alike.
"""

from functools import partial

from harness.core.graph import Graph, GraphBuilder
from harness.core.hookspecs import Optimizer
from harness.core.models.base import Fixture, Model

OPTIMIZER = Optimizer("adam", lr=0.0045, beta1=0.25, beta2=0.5)


def build(size: int, users: int, items: int, factors: int = 64) -> Graph:
    """Return the network; an interaction has no size, so ``size`` changes nothing."""
    b = GraphBuilder("ncf")
    user = b.input("user", (), kind="index", high=users)
    item = b.input("item", (), kind="index", high=items)
    product = b.add(
        "mul",
        "product",
        b.add("embedding", "product_user", user, rows=users, width=factors),
        b.add("embedding", "product_item", item, rows=items, width=factors),
    )
    x = b.add(
        "concat",
        "pair",
        b.add("embedding", "mlp_user", user, rows=users, width=2 * factors),
        b.add("embedding", "mlp_item", item, rows=items, width=2 * factors),
    )
    for number, units in enumerate((4 * factors, 2 * factors, factors), start=1):
        x = b.add("relu", "mlp%d_relu" % number, b.add("dense", "mlp%d" % number, x, units=units, bias=True))
        x = b.add("dropout", "mlp%d_drop" % number, x, rate=0.5)
    logits = b.add("dense", "final", b.add("concat", "both", product, x), units=1, bias=True)
    labels = b.input("labels", (), kind="index", high=2)
    return b.finish(outputs=(logits,), loss=b.add("sigmoid_cross_entropy", "loss", logits, labels))


def _model(name: str, title: str, users: int, items: int) -> Model:
    narrow = Fixture(1, 12, 6, partial(build, users=9, items=7, factors=4))
    return Model(name, title, partial(build, users=users, items=items), 1, "samples", narrow, OPTIMIZER, size_unit="")


MODELS = (
    _model("ncf", "NCF", 138493, 26744),  # MovieLens 20M
    _model("ncf-small", "NCF small", 6040, 3706),  # MovieLens 1M
)
