"""GNMT v2: the translation network of Wu et al. (arXiv 1609.08144) as NVIDIA's examples train it, four layers a side.

Tokens 0 to 3 are padding, unknown, begin and end. The sentences are drawn as bucketing by length leaves them: a batch of
size T has lengths above 4/5 T, the longest of five equal buckets. The target is given (teacher forcing) in both modes, so
inference is the scoring of a translation; beam search is not part of the model. Work counts the tokens of both
sentences, without padding.
"""

from functools import partial

from harness.core.graph import Graph, GraphBuilder
from harness.core.hookspecs import Optimizer
from harness.core.models.base import Fixture, Model

RESERVED = 4  # the tokens that no sentence is made of
OPTIMIZER = Optimizer("adam", lr=2e-3, clip_norm=5.0)


def _lstm(b: GraphBuilder, name: str, x: str, units: int) -> str:
    return b.add("lstm", name, b.add("dropout", name + "_drop", x, rate=0.2), units=units)


def build(size: int, units: int, vocabulary: int, shortest_share: float = 0.8) -> Graph:
    """Return the network for sentences of up to ``size`` tokens, the shortest being that share of it and one token more."""
    b = GraphBuilder("gnmt")
    shortest = min(size, int(size * shortest_share) + 1)
    source_length = b.input("source_length", (), kind="length", low=shortest, high=size + 1)
    target_length = b.input("target_length", (), kind="length", low=shortest, high=size + 1)
    source, target, labels = (
        b.input(name, (size,), kind="index", low=RESERVED, high=vocabulary, length=length)
        for name, length in (("source", source_length), ("target", target_length), ("labels", target_length))
    )

    x = b.add("embedding", "embedding", source, rows=vocabulary, width=units)
    x = b.add("bilstm", "encoder1", b.add("dropout", "encoder1_drop", x, rate=0.2), source_length, units=units)
    x = _lstm(b, "encoder2", x, units)
    for number in (3, 4):
        x = b.add("add", "encoder%d_sum" % number, _lstm(b, "encoder%d" % number, x, units), x)
    memory = x

    x = b.add("embedding", "target_embedding", target, tied="embedding", rows=vocabulary, width=units)
    x = _lstm(b, "decoder1", x, units)
    context = b.add("attention", "attention", x, memory, source_length, units=units)
    x = _lstm(b, "decoder2", b.add("concat", "decoder2_in", x, context), units)
    for number in (3, 4):
        y = _lstm(b, "decoder%d" % number, b.add("concat", "decoder%d_in" % number, x, context), units)
        x = b.add("add", "decoder%d_sum" % number, y, x)
    logits = b.add("dense", "classifier", x, units=vocabulary, bias=True)
    loss = b.add("sequence_cross_entropy", "loss", logits, labels, target_length, smoothing=0.1)
    return b.finish(outputs=(logits,), loss=loss)


def _model(name: str, title: str, size: int, units: int, vocabulary: int) -> Model:
    return Model(
        name,
        title,
        partial(build, units=units, vocabulary=vocabulary),
        size,
        "tokens",
        Fixture(6, 3, 0, partial(build, units=7, vocabulary=23, shortest_share=0.2)),
        OPTIMIZER,
        size_unit="tokens",
    )


MODELS = (
    _model("gnmt", "GNMT v2", 50, 1024, 32320),  # 32,317 byte pairs, padded to a multiple of 8
    _model("gnmt-small", "GNMT v2 small", 25, 256, 8000),
)
