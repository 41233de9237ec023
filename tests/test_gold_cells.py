"""Cells: what is read as a number with its spread, as no number, and what is refused in a sentence."""

import pytest
from helpers import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.errors import UserError
from harness.gold.cells import read
from harness.gold.names import framework, heading, unit
from harness.statuses import Status

# Pieces that cells are made of, so that many of what is made is nearly right.
PIECES = st.sampled_from(
    [*"0123456789", ",", ".", "e", "E", "-", "+", "±", "+/-", "%", " ", "N/A", "1,554", "4.8e6", "−", "٣", "\x00", "∞"]
)
TEXTS = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=12).map("".join))


@pytest.mark.parametrize(
    ("text", "mean", "std"),
    [
        ("1547 ± 316", 1547, 316),
        ("1547±316", 1547, 316),
        ("  1547  +/-  316 ", 1547, 316),
        ("9631 ± 1.3%", 9631, 125.203),
        ("4.8e6 ± 2.9 %", 4.8e6, 139_200),
        ("4.8E+06", 4.8e6, None),
        ("1,554", 1554, None),
        ("84,833,836.5 ± 1,234", 84_833_836.5, 1234),
        ("+5", 5, None),
        ("5.", 5, None),
        ("0.0512 ± 0.0034", 0.0512, 0.0034),
        ("3.00 ± 0.00", 3, 0),
    ],
)
def test_numbers(text, mean, std):
    value = read(text).value
    assert value.mean == pytest.approx(mean) and value.std == (None if std is None else pytest.approx(std))


@pytest.mark.parametrize(
    ("spread", "std", "relative"), [("316", 316, False), ("2 %", 30.94, True), ("", None, False), ("N/A", None, False)]
)
def test_a_spread_of_its_own_column(spread, std, relative):
    found = read("1547", spread)
    assert found.value.std == (None if std is None else pytest.approx(std)) and found.relative == relative


@pytest.mark.parametrize("text", ["N/A", "n/a", "NA", "-", "–", "", "  ", "??", "TBA", "OOM", "not planned", *Status])
def test_no_number(text):
    found = read(text)
    assert found.value is None and found.word


def test_what_stands_in_the_numbers_place_is_kept():
    assert [read(text).word for text in ("OOM", "crashed", "-", "")] == ["OOM", "crashed", "N/A", "N/A"]


@pytest.mark.parametrize(
    ("text", "spread", "message"),
    [
        ("0", "", "'0' is zero, which no throughput is; write N/A where there is no number"),
        ("0.0 ± 1", "", "'0.0' is zero"),
        ("-5", "", "'-5' is negative, which no throughput is"),
        ("−5", "", "'−5' is negative"),
        ("fast", "", "'fast' is no number; write one like 1547, 1,547, 4.8e6 or 1547 ± 316, or N/A"),
        ("1,55", "", "'1,55' is no number"),
        ("1547 img/s", "", "'1547 img/s' is no number"),
        ("1547 ±", "", "'' is no spread; write one like 316 or 1.3%"),
        ("1547 ± -3", "", "'-3' is no spread"),
        ("1547 ± 3 ± 4", "", "'3 ± 4' is no spread"),
        ("± 3", "", "'± 3' has a spread and no number"),
        ("N/A", "3", "'N/A' has a spread and no number"),
        ("5 ± 1", "1", "'5 ± 1' has a spread in the cell and another one beside it, '1'"),
        ("1e999", "", "'1e999' is out of range: throughputs lie between 1e-09 and 1e\\+15"),
        ("1e-300", "", "'1e-300' is out of range"),
        ("5", "1e99", "'1e99' is out of range: a spread is at most 1e\\+15"),
        ("nan", "", "'nan' is no number"),
        ("inf", "", "'inf' is no number"),
        ("٣", "", "'٣' is no number"),
        ("9" * 50, "", "'9999999999999999999999999999999999999...' is out of range"),
    ],
)
def test_what_is_refused(text, spread, message):
    with pytest.raises(ValueError, match=message):
        read(text, spread)


@settings(max_examples=examples(4000))
@given(TEXTS, st.one_of(st.just(""), TEXTS))
@example("9" * 5000, "")
def test_any_text_is_read_or_refused(text, spread):
    try:
        found = read(text, spread)
    except ValueError as error:
        assert type(error) is ValueError and "\n" not in str(error)
    else:
        assert (found.value is None) == bool(found.value is None and found.word)
        assert found.value is None or found.value.low + found.value.high > 0


@given(st.floats(1e-6, 1e12), st.one_of(st.none(), st.floats(0, 1e12)))
def test_what_is_written_is_read_back(mean, std):
    text = repr(mean) if std is None else f"{mean!r} ± {std!r}"
    value = read(text).value
    assert (value.mean, value.std) == (mean, std)


class TestNames:
    @pytest.mark.parametrize("name", ["resnet50", "ResNet-50", "ResNet 50", "RESNET_50", "resnet-50"])
    def test_models(self, name):
        assert heading(name).model == "resnet50"

    @pytest.mark.parametrize(
        ("name", "other"),
        [("TF", "TensorFlow"), ("tensorflow", "TensorFlow"), ("Paddle", "PaddlePaddle"), ("mxnet", "MXNet"), ("Apache MXNet", "MXNet")],
    )
    def test_frameworks(self, name, other):
        assert framework(name) == framework(other)

    @pytest.mark.parametrize(("name", "other"), [("Torch", "PyTorch"), ("Keras(TF)", "TensorFlow"), ("CuDNN[R4]-fp16", "CuDNN[R4]-fp32")])
    def test_frameworks_that_differ(self, name, other):
        assert framework(name) != framework(other)

    @pytest.mark.parametrize(("name", "other"), [("VGG-16", "VGG-19"), ("MobileNet v2", "MobileNet"), ("ResNet-50 v1.5", "ResNet-50")])
    def test_models_that_differ(self, name, other):
        assert heading(name).model != heading(other).model

    def test_headings_say_batch_and_size(self):
        assert heading("ResNet-50, batch 8, 32 px") == ("resnet50", 8, 32, None)
        assert heading("AlexNet batch 512") == ("alexnet", 512, None, None)
        assert heading("Batch 5") == ("batch5", None, None, None)
        assert heading("GNMT v2, batch 4, 10 tokens, tokens/s")[1:] == (4, 10, "tokens/s")

    @pytest.mark.parametrize("text", ["images/s", "img/sec", "Images per second", "image / s", " imgs/s "])
    def test_units(self, text):
        assert unit(text) == "images/s"

    @pytest.mark.parametrize(
        ("text", "message"), [("ms", "'ms' is a time. Give rates"), ("imags/s", "Did you mean 'images/s'"), ("", "is no unit")]
    )
    def test_what_is_no_unit(self, text, message):
        with pytest.raises(UserError, match=message):
            unit(text)
