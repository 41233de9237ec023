"""The models are the published networks, to the last parameter and multiply-accumulate."""

import pytest

from harness.core import GeometryError
from harness.core.models import MODELS
from harness.core.ops import OPS

# Parameters, running statistics, MACs of convolutions and of dense layers, of the published definitions at 224 pixels.
PUBLISHED = {
    "alexnet": (61100840, 0, 655566528, 58621952),
    "vgg16": (138357544, 0, 15346630656, 123633664),
    "vgg19": (143667240, 0, 19508428800, 123633664),
    "resnet18": (11689512, 9600, 1813561344, 512000),
    "resnet50": (25557032, 53120, 4087136256, 2048000),
    "resnet101": (44549160, 105344, 7799357440, 2048000),
    "mobilenet": (4231976, 21888, 567716352, 1024000),
    "nin": (7595176, 0, 1100188800, 0),
}
# Of networks on sequences and interactions, at their published sizes: parameters and MACs a sample.
GNMT_SOURCE_TOKEN, GNMT_TARGET_TOKEN = 46137344 + 1048576, 46137344 + 1048576 + 1024 * 32320 + 2048 * 50
PUBLISHED_TOO = {
    "gnmt": (160671297, 50 * (GNMT_SOURCE_TOKEN + GNMT_TARGET_TOKEN)),
    "ncf": (31832577, 106624),
}
# Of image generation, from its published definition: frozen parameters, and MACs of the network and of Gram matrices by size, in millions.
GENERATED = {
    "style-vgg": (7635264, {64: (1139.5, 67.1), 128: (4558.2, 268.4), 256: (18232.6, 1073.7), 512: (72930.6, 4295.0)}),
    "style-nin": (5520576, {128: (250.7, 30.6), 256: (1234.3, 161.1), 512: (5466.8, 736.5)}),
}
TOTAL_MACS = {
    "alexnet": 714188480,
    "vgg16": 15470264320,
    "vgg19": 19632062464,
    "resnet18": 1814073344,
    "resnet50": 4089184256,
    "resnet101": 7801405440,
    "mobilenet": 568740352,
    "nin": 1100188800,
}
# Layer by layer: (MACs, parameters).
ALEXNET = {
    "conv1": (70276800, 23296),
    "conv2": (223948800, 307392),
    "conv3": (112140288, 663936),
    "conv4": (149520384, 884992),
    "conv5": (99680256, 590080),
    "fc6": (37748736, 37752832),
    "fc7": (16777216, 16781312),
    "fc8": (4096000, 4097000),
}
NIN = {
    "conv1": (101616768, 34944),
    "cccp1": (26873856, 9312),
    "cccp2": (26873856, 9312),
    "conv2": (447897600, 614656),
    "cccp3": (47775744, 65792),
    "cccp4": (47775744, 65792),
    "conv3": (149520384, 885120),
    "cccp5": (24920064, 147840),
    "cccp6": (24920064, 147840),
    "conv4": (127401984, 3539968),
    "cccp7": (37748736, 1049600),
    "cccp8": (36864000, 1025000),
}
# The largest size at which a model cannot be built, and the node that gets an empty map.
TOO_SMALL = {"alexnet": (62, "pool5"), "vgg16": (31, "pool5"), "vgg19": (31, "pool5"), "nin": (54, "pool3")}


def published(name):
    return MODELS[name].build(MODELS[name].size)


def macs(graph):
    """Multiply-accumulates by node, those without any left out."""
    shapes = graph.shapes
    counts = {n.name: OPS[n.op].macs(n.attrs, [shapes[i] for i in n.inputs], n.shape) for n in graph.nodes}
    return {name: count for name, count in counts.items() if count}


def test_every_model_has_its_published_numbers_here():
    assert set(PUBLISHED) == set(TOTAL_MACS)
    assert set(MODELS) == set(PUBLISHED) | set(PUBLISHED_TOO) | {"gnmt-small", "ncf-small"} | set(GENERATED)


@pytest.mark.parametrize("name", sorted(PUBLISHED_TOO))
def test_counts_of_the_others_are_the_published_ones(name):
    graph = published(name)
    assert (graph.parameter_count(), graph.macs()) == PUBLISHED_TOO[name]
    assert graph.buffer_count() == 0


@pytest.mark.parametrize("name", sorted(PUBLISHED_TOO))
def test_the_small_one_is_the_same_network_and_says_that_it_is_small(name):
    whole, small = published(name), published(name + "-small")
    assert MODELS[name + "-small"].title == MODELS[name].title + " small"
    assert [(n.name, n.op, n.inputs) for n in whole.nodes] == [(n.name, n.op, n.inputs) for n in small.nodes]
    assert small.parameter_count() < whole.parameter_count() / 10
    assert MODELS[name + "-small"].optimizer == MODELS[name].optimizer


def test_gnmt_is_tied_masked_and_residual_where_it_should_be():
    nodes = {node.name: node for node in published("gnmt").nodes}
    assert nodes["target_embedding"].params == nodes["embedding"].params
    assert [n.attrs["rate"] for n in nodes.values() if n.op == "dropout"] == [0.2] * 8  # the input of every LSTM
    assert nodes["attention"].inputs == ("decoder1", "encoder4_sum", "source_length")
    assert [name for name, node in nodes.items() if node.op == "add"] == ["encoder3_sum", "encoder4_sum", "decoder3_sum", "decoder4_sum"]
    assert {name: nodes[name].shape for name in ("encoder1", "decoder2_in", "classifier")} == {
        "encoder1": (50, 2048),
        "decoder2_in": (50, 2048),
        "classifier": (50, 32320),
    }


def test_sentences_are_as_long_as_the_longest_of_five_buckets():
    bounds = {spec.name: (spec.low, spec.high) for spec in published("gnmt").inputs if spec.kind == "length"}
    assert bounds == {"source_length": (41, 51), "target_length": (41, 51)}


@pytest.mark.parametrize("size", [1, 2, 7])
def test_gnmt_takes_any_length(size):
    lengths = [spec for spec in MODELS["gnmt-small"].build(size).inputs if spec.kind == "length"]
    assert all(1 <= spec.low < spec.high == size + 1 for spec in lengths)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_counts_are_the_published_ones(name):
    graph = published(name)
    parameters, buffers, in_convolutions, in_dense_layers = PUBLISHED[name]
    ops = {node.name: node.op for node in graph.nodes}
    by_op = {"conv2d": 0, "dense": 0}
    for node, count in macs(graph).items():
        by_op[ops[node]] += count
    assert MODELS[name].size == 224
    assert graph.parameter_count() == parameters
    assert graph.buffer_count() == buffers
    assert by_op == {"conv2d": in_convolutions, "dense": in_dense_layers}
    assert graph.macs() == TOTAL_MACS[name]


@pytest.mark.parametrize("name, layers", [("alexnet", ALEXNET), ("nin", NIN)])
def test_every_layer_counts_as_published(name, layers):
    graph = published(name)
    parameters = {node.name: sum(graph.params[p].size for p in node.params.values()) for node in graph.nodes if node.params}
    assert macs(graph) == {layer: count for layer, (count, _) in layers.items()}
    assert parameters == {layer: count for layer, (_, count) in layers.items()}


def test_mobilenet_spends_its_macs_where_the_paper_says():
    counts = macs(published("mobilenet"))
    assert counts["conv1"] == 10838016
    assert sum(count for name, count in counts.items() if name.startswith("pointwise")) == 539492352
    assert sum(count for name, count in counts.items() if name.startswith("depthwise")) == 17385984


def test_resnet50_strides_in_the_3x3_convolution():
    strided = [n.attrs["kernel"] for n in published("resnet50").nodes if n.op == "conv2d" and n.attrs["stride"] == (2, 2)]
    assert sorted(strided) == [(1, 1)] * 3 + [(3, 3)] * 3 + [(7, 7)]  # projections, bottlenecks, stem


@pytest.mark.parametrize("name, convolutions", [("resnet18", 20), ("resnet50", 53), ("resnet101", 104), ("mobilenet", 27)])
def test_depth_is_the_published_one(name, convolutions):
    ops = [node.op for node in published(name).nodes]
    assert ops.count("conv2d") == ops.count("batch_norm") == convolutions
    assert ops.count("dense") == 1


def test_nin_pools_in_ceil_mode():
    shapes = published("nin").shapes
    assert [shapes[name][1:] for name in ("conv1", "pool1", "pool2", "pool3")] == [(54, 54), (27, 27), (13, 13), (6, 6)]


def test_alexnet_maps_are_those_of_the_one_tower_form():
    shapes = published("alexnet").shapes
    assert [shapes[name][1] for name in ("conv1", "pool1", "pool2", "conv5", "pool5")] == [55, 27, 13, 13, 6]


@pytest.mark.parametrize("name", sorted(TOO_SMALL))
def test_a_size_too_small_is_refused_with_model_and_node(name):
    size, node = TOO_SMALL[name]
    with pytest.raises(GeometryError) as error:
        MODELS[name].build(size)
    assert str(error.value).startswith(f"{name}: node '{node}': max_pool2d: kernel ")
    assert MODELS[name].build(size + 1).shapes[node][1:] == (1, 1)


@pytest.mark.parametrize("name", sorted(set(PUBLISHED) - set(TOO_SMALL)))
def test_a_network_that_pads_everywhere_fits_any_size(name):
    assert MODELS[name].build(1).shapes["fc"] == (1000,)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_parity_fixture_builds_and_keeps_the_parameters(name):
    fixture = MODELS[name].parity
    graph = MODELS[name].small()
    assert fixture.size < MODELS[name].size
    assert graph.shapes["labels"] == ()
    assert graph.shapes[graph.outputs[0]] == (1000,)
    assert graph.loss == "loss"
    if name in ("alexnet", "vgg16", "vgg19"):  # their first dense layer depends on the map
        assert graph.parameter_count() < PUBLISHED[name][0]
    else:
        assert graph.parameter_count() == PUBLISHED[name][0]


@pytest.mark.parametrize("name", sorted(set(MODELS) - set(PUBLISHED) - set(GENERATED)))
def test_the_parity_fixture_of_the_others_is_the_same_network_with_fewer_units(name):
    small = MODELS[name].small()
    assert [(n.name, n.op, n.inputs) for n in small.nodes] == [(n.name, n.op, n.inputs) for n in published(name).nodes]
    assert small.parameter_count() < 10000


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_image_generation_is_the_published_one(name):
    frozen, work = GENERATED[name]
    for size, (network, gram) in work.items():
        graph = MODELS[name].build(size)
        counts = macs(graph)
        in_gram = sum(count for node, count in counts.items() if node.startswith("gram"))
        assert (round((graph.macs() - in_gram) / 1e6, 1), round(in_gram / 1e6, 1)) == (network, gram)
        assert (graph.buffer_count(), graph.parameter_count()) == (frozen, 3 * size * size)
        assert [spec.name for spec in graph.params.values() if spec.trainable] == ["image.value"]


def test_nin_generates_no_image_of_64_pixels():
    with pytest.raises(GeometryError, match="style-nin: node 'pool3'"):
        MODELS["style-nin"].build(64)


def test_features_are_taken_where_the_published_program_takes_them():
    inputs = {name: [n.inputs[0] for n in MODELS[name].build(128).nodes if n.op == "gram"] for name in GENERATED}
    assert inputs == {
        "style-vgg": ["conv1_2", "conv2_2", "conv3_3", "conv4_3"],  # before their ReLU
        "style-nin": ["conv1_relu", "conv2_relu", "conv3_relu", "conv4_relu"],
    }
    weights = {n.name: n.attrs["weight"] for n in MODELS["style-nin"].build(128).nodes if n.op == "squared_error"}
    assert weights == {"content_loss2": 0.005, "content_loss3": 0.005, **{f"style_loss{number}": 0.25 for number in range(4)}}
