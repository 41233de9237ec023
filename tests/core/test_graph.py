"""The builder refuses wrong models, and a graph knows everything about itself."""

import pytest

from harness.core import GeometryError, GraphBuilder, HarnessError
from harness.core.ops import OPS

from . import tiny

# Of ``small`` below. It stands in results, so it may not depend on the Python version or the run.
FINGERPRINT = "ab3c37b5abbfa22f15ba6a2994bdce315d75a289ce24165719d135f6ae5bc2ef"


def small(units=3, rate=0.5):
    b = GraphBuilder("small")
    x = b.add("dropout", "drop", b.input("x", (4,)), rate=rate)
    logits = b.add("dense", "fc", x, units=units, bias=True)
    loss = b.add("softmax_cross_entropy", "loss", logits, b.input("labels", (), kind="index", high=units))
    return b.finish(outputs=(logits,), loss=loss)


@pytest.fixture
def builder():
    b = GraphBuilder("net")
    b.input("image", (3, 4, 4))
    return b


def test_two_tensors_cannot_share_a_name(builder):
    builder.add("relu", "act", "image")
    with pytest.raises(HarnessError, match="net: two tensors are called 'act'"):
        builder.add("relu", "act", "image")


def test_a_node_cannot_take_the_name_of_an_input(builder):
    with pytest.raises(HarnessError, match="net: two tensors are called 'image'"):
        builder.add("relu", "image", "image")


@pytest.mark.parametrize(
    "attrs",
    [{}, {"units": 2}, {"units": 2, "bias": True, "bais": True}, {"unit": 2, "bias": True}],
    ids=["none", "one missing", "one too many", "misspelled"],
)
def test_every_attribute_must_be_given_and_no_other(builder, attrs):
    builder.add("flatten", "flat", "image")
    with pytest.raises(HarnessError, match=r"net: node 'fc': op dense wants inputs \('x',\) and attributes \('units', 'bias'\)"):
        builder.add("dense", "fc", "flat", **attrs)


@pytest.mark.parametrize("inputs", [(), ("image",), ("image",) * 3], ids=len)
def test_the_number_of_inputs_must_be_the_op_s(builder, inputs):
    with pytest.raises(HarnessError, match=r"net: node 'sum': op add wants inputs \('x', 'y'\)"):
        builder.add("add", "sum", *inputs)


@pytest.mark.parametrize("op", sorted(OPS))
def test_no_op_takes_an_unknown_attribute(builder, op):
    attrs = dict.fromkeys(OPS[op].attrs, 1)
    with pytest.raises(HarnessError, match=f"net: node 'node': op {op} wants"):
        builder.add(op, "node", *["image"] * len(OPS[op].inputs), colour="red", **attrs)


def test_a_kernel_larger_than_the_map_names_model_and_node(builder):
    with pytest.raises(GeometryError, match=r"^net: node 'pool': max_pool2d: kernel 5 is larger than the padded map 4$"):
        builder.add("max_pool2d", "pool", "image", kernel=(5, 5), stride=(1, 1), pads=(0, 0, 0, 0), ceil=False)


def test_shapes_that_do_not_add_up_are_refused(builder):
    builder.add("flatten", "flat", "image")
    with pytest.raises(HarnessError, match=r"node 'sum': add: shapes \(3, 4, 4\) and \(48,\) differ"):
        builder.add("add", "sum", "image", "flat")


def test_a_dense_layer_wants_a_flat_tensor(builder):
    with pytest.raises(HarnessError, match=r"node 'fc': dense: wants \(features,\) or \(steps, features\), got shape \(3, 4, 4\)"):
        builder.add("dense", "fc", "image", units=2, bias=True)


def words(**tie):
    b = GraphBuilder("words")
    one = b.add("embedding", "one", b.input("first", (), kind="index", high=5), rows=5, width=3)
    two = b.add("embedding", "two", b.input("second", (), kind="index", high=5), rows=5, width=3, **tie)
    return b.finish(outputs=(b.add("mul", "both", one, two),), loss="")


def test_a_tied_node_brings_no_parameters_of_its_own():
    apart, together = words(), words(tied="one")
    assert list(apart.params) == ["one.table", "two.table"] and list(together.params) == ["one.table"]
    assert [node.params for node in together.nodes if node.params] == [{"table": "one.table"}] * 2
    assert (apart.parameter_count(), together.parameter_count()) == (30, 15)
    assert apart.fingerprint() != together.fingerprint()


@pytest.mark.parametrize("owner, rows", [("nobody", 5), ("one", 6)])
def test_a_tie_to_other_parameters_is_refused(owner, rows):
    b = GraphBuilder("words")
    ids = b.input("ids", (), kind="index", high=5)
    b.add("embedding", "one", ids, rows=5, width=3)
    with pytest.raises(HarnessError, match=f"words: node 'two' cannot be tied to '{owner}', which has no such parameters"):
        b.add("embedding", "two", ids, tied=owner, rows=rows, width=3)


def test_an_input_cannot_take_a_name_twice(builder):
    builder.add("relu", "relu", "image")
    for name in ("image", "relu"):
        with pytest.raises(HarnessError, match=f"two tensors are called '{name}'"):
            builder.input(name, (3,))


def test_an_op_or_tensor_that_is_not_there_is_named(builder):
    with pytest.raises(HarnessError, match="node 'x': there is no op 'rleu'"):
        builder.add("rleu", "x", "image")
    with pytest.raises(HarnessError, match="there is no tensor 'imgae'"):
        builder.add("relu", "x", "imgae")


@pytest.mark.parametrize("outputs, loss", [(("nope",), ""), (("image",), "nope")])
def test_outputs_and_loss_must_be_there(builder, outputs, loss):
    with pytest.raises(HarnessError, match="there is no tensor 'nope'"):
        builder.finish(outputs, loss)


def test_shapes_and_parameters_follow_from_the_ops():
    graph = small()
    assert graph.shapes == {"x": (4,), "labels": (), "drop": (4,), "fc": (3,), "loss": ()}
    assert [(p.name, p.role, p.shape, p.size, p.fan_in) for p in graph.params.values()] == [
        ("fc.weight", "weight", (3, 4), 12, 4),
        ("fc.bias", "bias", (3,), 3, 0),
    ]
    assert (graph.parameter_count(), graph.buffer_count(), graph.macs()) == (15, 0, 12)


def test_running_statistics_are_buffers():
    graph = tiny.build(9)
    assert graph.buffer_count() == 2 * 2 * 8
    assert [p.role for p in graph.params.values() if not p.trainable] == ["mean", "var"] * 2


def test_inference_needs_no_loss_and_no_labels():
    graph = small().for_inference()
    assert [spec.name for spec in graph.inputs] == ["x"]
    assert [node.name for node in graph.nodes] == ["drop", "fc"]
    assert (graph.outputs, graph.loss) == (("fc",), "")


def test_inference_drops_a_branch_that_no_output_needs():
    b = GraphBuilder("net")
    x = b.input("x", (4,))
    b.add("relu", "aside", x)
    graph = b.finish(outputs=(b.add("relu", "out", x),), loss="").for_inference()
    assert [node.name for node in graph.nodes] == ["out"]


def test_inference_leaves_the_training_graph_alone():
    graph = small()
    before = graph.fingerprint()
    graph.for_inference()
    graph.without_dropout()
    assert graph.fingerprint() == before


def test_without_dropout_changes_rates_and_nothing_else():
    graph = tiny.build(9)
    plain = graph.without_dropout()
    assert [n.attrs for n in plain.nodes if n.op == "dropout"] == [{"rate": 0.0}]
    assert [n for n in plain.nodes if n.op != "dropout"] == [n for n in graph.nodes if n.op != "dropout"]
    assert plain.fingerprint() == tiny.build(9, rate=0.0).fingerprint()


def test_attributes_can_be_replaced_in_every_node_of_one_op():
    graph = tiny.build(9)
    changed = graph.with_attrs("batch_norm", momentum=0.5)
    assert [n.attrs for n in changed.nodes if n.op == "batch_norm"] == [{"epsilon": 1e-5, "momentum": 0.5}] * 2
    assert [n for n in changed.nodes if n.op != "batch_norm"] == [n for n in graph.nodes if n.op != "batch_norm"]
    assert graph.fingerprint() == tiny.build(9).fingerprint()


def test_consumers_counts_readers_and_outputs():
    b = GraphBuilder("net")
    x = b.input("x", (4,))
    act = b.add("relu", "act", x)
    twice = b.add("add", "twice", act, act)
    graph = b.finish(outputs=(twice, act), loss="")
    assert graph.consumers() == {"x": 1, "act": 3, "twice": 1}


def test_the_fingerprint_is_the_same_everywhere():
    assert small().fingerprint() == FINGERPRINT


@pytest.mark.parametrize("changed", [small(units=4), small(rate=0.4), small().for_inference()], ids=["shape", "attribute", "loss"])
def test_the_fingerprint_notices_a_change(changed):
    assert changed.fingerprint() != FINGERPRINT


def test_the_fingerprint_notices_a_stride():
    def graph(stride):
        b = GraphBuilder("net")
        x = b.input("x", (1, 3, 3))
        x = b.add("max_pool2d", "pool", x, kernel=(3, 3), stride=(stride, stride), pads=(0, 0, 0, 0), ceil=False)
        return b.finish(outputs=(x,), loss="")

    assert graph(1).shapes == graph(2).shapes
    assert graph(1).fingerprint() != graph(2).fingerprint()
