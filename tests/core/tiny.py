"""A network with every op in it, small enough that a test can train it, and a job that measures it."""

from harness.core import GraphBuilder
from harness.core.jobs import Job
from harness.core.models.base import Fixture, Model, batch_norm, conv, max_pool, with_loss

JOB = Job(
    adapter="numpy",
    package="harness_numpy",
    model="tiny",
    mode="train",
    device="cpu",
    precision="fp32",
    variant="eager",
    batch=4,
    size=9,
    cpus=(0,),
    seed=0,
    gates=("fp64", "fp32"),
    images=None,
    track="as-shipped",
    build="lowered",
)


def build(size, rate=0.5):
    b = GraphBuilder("tiny")
    image = b.input("image", (3, size, size))
    x = b.add("relu", "relu1", batch_norm(b, "bn1", conv(b, "conv1", image, 8, 3, pad=1)))
    y = batch_norm(b, "bn2", conv(b, "depthwise", x, 8, 3, pad=1, groups=8, bias=False))
    x = b.add("relu", "relu2", b.add("add", "sum", x, y))
    x = max_pool(b, "pool", x, 3, 2, ceil=True)
    wide = b.add("relu", "wide_relu", b.add("dense", "wide", b.add("flatten", "flat", x), units=12, bias=True))
    wide = b.add("dense", "wide_out", b.add("dropout", "drop", wide, rate=rate), units=5, bias=True)
    mean = b.add("dense", "mean_out", b.add("global_avg_pool", "mean", x), units=5, bias=False)
    return with_loss(b, b.add("add", "logits", wide, mean))


MODEL = Model("tiny", "Tiny", build, 9, "images", Fixture(9, 4, 0))
PLAIN = Model("plain", "Tiny without dropout", lambda size: build(size, rate=0.0), 9, "images", Fixture(9, 4, 0))
