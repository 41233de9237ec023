"""The gold tables that ship, against figures worked out apart from them; and gold files of users' own."""

import pytest
from helpers import examples, write_toml
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import UserError
from harness.gold import names, published

NAMES = list(published.shipped())
FILE = {
    "version": 1,
    "title": "T",
    "source": "S",
    "hardware": "H",
    "spread": "none",
    "conditions": ["C"],
    "cells": "framework,AlexNet\nPyTorch,5\n",
    "defaults": {"unit": "images/s"},
}


def mean(table, framework, column):
    return published.load(table).cells[framework, column].mean


@pytest.fixture
def own(tmp_path):
    """Read a gold file that differs from a good one."""

    def made(**changes):
        document = {name: value for name, value in {**FILE, **changes}.items() if value is not None}
        return published.load(str(write_toml(tmp_path / "own.toml", document)))

    return made


class TestPaper:
    def test_every_cell(self):
        """25 values and 11 N/A; the framework that the paper prints in bold is the fastest of each column."""
        gold = published.load("pytorch-paper")
        assert gold.count() == (25, 11)
        by_framework = {name: sum(gold.cells[name, column.name] is not None for column in gold.columns) for name in gold.frameworks}
        assert by_framework == {"Chainer": 2, "CNTK": 3, "MXNet": 4, "PaddlePaddle": 4, "TensorFlow": 6, "PyTorch": 6}
        fastest = {
            column.name: max((value.mean, name) for name in gold.frameworks if (value := gold.cells[name, column.name]))[1]
            for column in gold.columns
        }
        assert fastest == {
            "AlexNet": "MXNet",
            "VGG-19": "PyTorch",
            "ResNet-50": "Chainer",
            "MobileNet": "PaddlePaddle",
            "GNMTv2": "PyTorch",
            "NCF": "PyTorch",
        }

    def test_spreads_in_percent_become_absolute(self):
        gold = published.load("pytorch-paper")
        found = {(f, m): gold.cells[f, m].std for f in ("PyTorch", "TensorFlow") for m in ("GNMTv2", "NCF", "AlexNet")}
        assert found == pytest.approx(
            {
                ("PyTorch", "GNMTv2"): 744.576,
                ("TensorFlow", "GNMTv2"): 125.203,
                ("PyTorch", "NCF"): 183_600,
                ("TensorFlow", "NCF"): 139_200,
                ("PyTorch", "AlexNet"): 316,
                ("TensorFlow", "AlexNet"): 27,
            }
        )

    def test_units(self):
        units = {column.name: column.unit for column in published.load("pytorch-paper").columns}
        images = dict.fromkeys(("AlexNet", "VGG-19", "ResNet-50", "MobileNet"), "images/s")
        assert units == images | {"GNMTv2": "tokens/s", "NCF": "samples/s"}


@pytest.mark.parametrize(
    ("table", "framework", "column", "expected"),
    [
        ("convnet-benchmarks", "TensorFlow", "AlexNet-OWT", 128 * 1000 / 81),
        ("convnet-benchmarks", "Chainer", "VGG-A", 64 * 1000 / 885),
        ("u39kun-titan-v", "PyTorch", "VGG-16 train fp32", 16_000 / 108.8),
        ("u39kun-v100", "TensorFlow", "ResNet-152 infer fp16", 16_000 / 22.6),
        ("ilkarman-p100", "PyTorch", "CIFAR-10 CNN", 500_000 / 51),
        ("ilkarman-k80", "Keras(TF)", "ResNet-50 features", 1000 / 10.2),
        ("ilkarman-k80", "CNTK", "IMDB GRU", 75_000 / 32),
        ("paddle-k40m", "PaddlePaddle", "AlexNet, batch 512", 512_000 / 1629),
        ("paddle-k40m", "TensorFlow", "LSTM-h256, batch 64", 64_000 / 175),
        ("guolinke-titan-x", "Torch", "ResNet-50", 1 / 0.159),
        ("lambda-h200", "PyTorch", "ResNet-50 tf32", 2259.2),
        ("mxnet-v100", "MXNet", "AlexNet, batch 512", 2585.61),
        ("tensorflow-p100", "TensorFlow", "AlexNet, batch 512", 2987),
        ("paddle-v100", "PyTorch", "SE-ResNeXt-50 CUDA 9", 163.13),
    ],
)
def test_times_become_throughputs_by_rule(table, framework, column, expected):
    assert mean(table, framework, column) == pytest.approx(expected)


def test_repeats_become_mean_and_deviation():
    assert published.load("lambda-h200").cells["PyTorch", "ResNet-50 tf32"].std == pytest.approx(0.2)


def test_what_stands_in_place_of_a_number():
    words = published.load("paddle-k40m").words
    assert words["Caffe", "GoogLeNet, batch 256"] == "OOM" and words["Caffe", "LSTM-h256, batch 64"] == "N/A"


@pytest.mark.parametrize("name", NAMES)
def test_every_table_that_ships(name):
    gold = published.load(name)
    assert gold.name == name and gold.source and gold.hardware and gold.spread
    assert len(gold.cells) == len(gold.frameworks) * len(gold.columns) and gold.count()[0] >= 4
    assert {pair for pair, value in gold.cells.items() if value is None} == set(gold.words)
    spreads = [value for value in gold.cells.values() if value is not None and value.std is not None]
    assert bool(spreads) == (gold.spread != "none")


def test_there_are_several_tables():
    assert len(NAMES) >= 10 and "pytorch-paper" in NAMES


class TestOwnFile:
    def test_it_is_read(self, own):
        gold = own()
        assert gold.name == "own" and gold.cells["PyTorch", "AlexNet"].mean == 5 and gold.columns[0].key == "alexnet"

    def test_a_time_keeps_its_relative_spread(self, own):
        value = own(cells="framework,A\nPyTorch,20 ± 1\n", defaults={"unit": "images/s", "given": "ms", "samples": 4, "spread": "absolute"})
        assert value.cells["PyTorch", "A"].mean == pytest.approx(200) and value.cells["PyTorch", "A"].std == pytest.approx(10)

    def test_a_spread_of_unknown_scale_is_left_out(self, own):
        gold = own(cells="framework,A\nPyTorch,20 ± 1\n", defaults={"unit": "images/s", "spread": "unknown"})
        assert gold.cells["PyTorch", "A"].std is None

    def test_long_cells(self, own):
        gold = own(cells="framework,model,value\nPyTorch,A,5\nTF,B,6\n")
        assert gold.count() == (2, 2) and gold.words == {("PyTorch", "B"): "N/A", ("TF", "A"): "N/A"}

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"hardware": None}, "own.toml: hardware is missing."),
            ({"version": 2}, "own.toml: version is 2: Input should be 1."),
            ({"sourse": "x"}, "own.toml: sourse: 'sourse' is no field here. Did you mean 'source'?"),
            ({"conditions": []}, "own.toml: conditions is []"),
            ({"defaults": {"unit": "furlongs"}}, "own.toml: defaults.unit is 'furlongs'"),
            ({"defaults": {}}, 'own.toml: column AlexNet has no unit. Write [columns."AlexNet"] with unit = "images/s", or [defaults].'),
            ({"columns": {"AlexNte": {}}}, "own.toml: columns: 'AlexNte' is no column of cells. Did you mean 'AlexNet'?"),
            ({"defaults": {"unit": "images/s", "given": "ms"}}, "column AlexNet is given in ms, so it needs samples = N"),
            ({"defaults": {"unit": "images/s", "samples": 4}}, "column AlexNet has samples and holds rates"),
            ({"cells": ""}, "own.toml: cells has no table in it."),
            ({"cells": "framework,AlexNet\nPyTorch,fast\n"}, "own.toml: cells:2: 'PyTorch', 'AlexNet': 'fast' is no number"),
            ({"cells": "framework,AlexNet\nPyTorch,0\n"}, "'0' is zero"),
            ({"cells": "framework,AlexNet\nPyTorch,5\nPyTorch,6\n"}, "own.toml: cells:3: PyTorch, AlexNet stands there twice."),
            ({"cells": "framework,AlexNet\nTF,5\nTensorFlow,6\n"}, "the frameworks 'TF' and 'TensorFlow' are one name. Tell them apart."),
            ({"cells": "framework,VGG-19,VGG 19\nTF,5,6\n"}, "the columns 'VGG-19' and 'VGG 19' are one name."),
            (
                {"cells": "framework,AlexNet\nPyTorch,5 ± 1\n"},
                "PyTorch, AlexNet has a ± that is absolute, and the column says nothing",
            ),
            (
                {"cells": "framework,AlexNet\nPyTorch,5 ± 1%\n", "defaults": {"unit": "images/s", "spread": "absolute"}},
                "has a ± that is relative, and the column says spread = 'absolute'.",
            ),
            ({"cells": "framework,model,value,unit\nPyTorch,A,5,tok/s\n"}, "cells:2: is in tokens/s, and the column A in images/s."),
            ({"repeats": True, "cells": "framework,A\nPyTorch,5;x\n"}, "own.toml: cells:2: 'x' is no number"),
            ({"repeats": True, "cells": "framework,A\nPyTorch,5;\n"}, "own.toml: cells:2: '5;': every run has a number."),
        ],
    )
    def test_what_is_wrong_is_said_in_a_sentence(self, own, changes, message):
        with pytest.raises(UserError) as caught:
            own(**changes)
        assert message in str(caught.value) and "\n" not in str(caught.value)

    @pytest.mark.parametrize("content", [b"\xff", b"a = " + b"[" * 100_000, b"a = "])
    def test_what_is_no_toml(self, tmp_path, content):
        (tmp_path / "own.toml").write_bytes(content)
        with pytest.raises(UserError, match=r"own\.toml: is n"):
            published.load(str(tmp_path / "own.toml"))

    def test_no_such_table(self):
        with pytest.raises(UserError, match=r"'pytorch-papre' is no gold table. Did you mean 'pytorch-paper'\?.*docs/gold.md"):
            published.load("pytorch-papre")


WORDS = st.sampled_from(["", "ms", "images/s", "train", "absolute", "framework,A\nB,5"])
VALUES = st.one_of(st.booleans(), st.integers(-5, 5), WORDS)


@settings(max_examples=examples(300))
@given(
    changes=st.dictionaries(st.sampled_from([*FILE, "columns", "repeats", "x"]), VALUES | st.lists(VALUES, max_size=2), max_size=3),
    spec=st.dictionaries(st.sampled_from([*published.ColumnSpec.model_fields, "x"]), VALUES, max_size=4),
)
def test_any_gold_file(tmp_path_factory, changes, spec):
    document = {**FILE, "defaults": {"unit": "images/s", **spec}, **changes}
    path = write_toml(tmp_path_factory.mktemp("gold") / "own.toml", document)
    try:
        gold = published.read(path)
    except UserError as error:
        assert str(error).startswith(str(path))
    else:
        assert gold.frameworks


def test_aliases_lead_to_one_name():
    """No name stands for two, and none of the aliases leads to another alias."""
    for table in (names.FRAMEWORKS, names.MODELS_ALSO, names.NOUNS):
        aliases = [alias for others in table.values() for alias in others]
        assert len(set(aliases)) == len(aliases) and not set(aliases) & set(table)
