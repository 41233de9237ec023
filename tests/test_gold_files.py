"""Tables in files: the forms that are read, and that everything else ends in a sentence with file and line."""

import json

import pytest
from helpers import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import UserError
from harness.gold import files
from harness.gold.records import Value

MANY = settings(max_examples=examples(2000), suppress_health_check=[HealthCheck.too_slow])
TITLES = ("framework", "model", "value", "std", "unit", "PyTorch", "TF", "AlexNet", "AlexNet_pm", "ResNet-50, batch 8", "_pm", "")
NUMBERS = ("5", "1,554", "1547 ± 316", "0", "-1", "N/A", " ", "img/s", "ms", "1.3%", "é", "\ud800", "\x00")
WORDS = st.sampled_from([*TITLES, *NUMBERS])


def read(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return files.read(path)


def pairs(entries):
    return {(entry.framework, entry.model): entry.value for entry in entries}


EXPECTED = {
    ("PyTorch", "AlexNet"): Value(mean=1547, std=316),
    ("PyTorch", "NCF"): Value(mean=5.4e6, std=183_600),
    ("Chainer", "AlexNet"): Value(mean=778, std=15),
    ("Chainer", "NCF"): None,
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wide.csv", "framework,AlexNet,AlexNet_pm,NCF,NCF_pm\nPyTorch,1547,316,5.4e6,3.4%\nChainer,778,15,N/A,\n"),
        ("wide.csv", '\ufeff"",AlexNet,NCF\r\n\r\nPyTorch,"1,547 ± 316","5,400,000 ± 3.4%"\r\nChainer,778 ± 15,-\r\n'),
        (
            "long.csv",
            "framework,model,value,std,unit\nPyTorch,AlexNet,1547,316,img/s\nPyTorch,NCF,5.4e6,3.4%,\n"
            "Chainer,AlexNet,778 ± 15,,\nChainer,NCF,,,\n",
        ),
        (
            "LONG.CSV",
            "Model,Framework,Value\nAlexNet,PyTorch,1547 ± 316\nNCF,PyTorch,5.4e6 ± 3.4%\nAlexNet,Chainer,778 ± 15\nNCF,Chainer,N/A\n",
        ),
        (
            "nested.json",
            '{"PyTorch": {"AlexNet": "1547 ± 316", "NCF": {"value": 5.4e6, "std": "3.4%"}},'
            ' "Chainer": {"AlexNet": {"value": 778, "std": 15, "unit": "images/s"}, "NCF": null}}',
        ),
        (
            "list.json",
            '[{"framework": "PyTorch", "model": "AlexNet", "value": 1547, "std": 316}, {"framework": "PyTorch", "model": "NCF", "value": '
            '"5.4e6 ± 3.4%"}, {"framework": "Chainer", "model": "AlexNet", "value": 778, "std": 15.0},'
            ' {"framework": "Chainer", "model": "NCF", "value": null}]',
        ),
        (
            "table.md",
            "# Words\n\ntext | text\n\n| framework | AlexNet | NCF |\n|---|---:|:---:|\n| PyTorch | **1547 ± 316** | 5.4e6 ± 3.4% [2] |\n"
            "| Chainer | 778 ± 15 | N/A [1] |\n\n[1] no such model\n",
        ),
        (
            "long.markdown",
            "|framework|model|value|\n|-|-|-|\n|PyTorch|AlexNet|1547 ± 316|\n|PyTorch|NCF|5.4e6 ± 3.4%|\n"
            "|Chainer|AlexNet|778 ± 15\n|Chainer|NCF||\n",
        ),
    ],
)
def test_forms(tmp_path, name, text):
    found = pairs(read(tmp_path, text, name))
    assert set(found) == set(EXPECTED)
    for pair, value in EXPECTED.items():
        if value is None:
            assert found[pair] is None
        else:
            assert (found[pair].mean, found[pair].std) == pytest.approx((value.mean, value.std))


def test_what_a_file_says_besides(tmp_path):
    (entry,) = read(tmp_path, 'framework,model,value,unit\nPyTorch,"ResNet-50, batch 8",5,img/s\n')
    assert (entry.batch, entry.unit, entry.where) == (8, "images/s", f"{tmp_path / 'table.csv'}:2")


def test_the_harness_own_tables(tmp_path):
    """Two tables of one file, told apart by their titles."""
    body = "\n\n| framework | A\\|B, batch 4, 32 px |\n|---|---:|\n| Al\\\\&lt;pha | 5 ± 1 |\n\nCaption.\n\n"
    text = f"### Training, fp32, cpu: images per second{body}### Inference, tf32, cuda:1: images per second{body}### Other{body}"
    found = read(tmp_path, text, "tables.md")
    assert [(e.mode, e.precision, e.device, e.unit) for e in found] == [
        ("train", "fp32", "cpu", "images/s"),
        ("infer", "tf32", "cuda:1", "images/s"),
        (None, None, None, None),
    ]
    assert {(e.framework, e.model, e.batch, e.size) for e in found} == {("Al\\<pha", "A|B, batch 4, 32 px", 4, 32)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "", "there is no table in it."),
        ("t.csv", "framework,AlexNet\n", "there is no table in it."),
        ("t.csv", "framework\nPyTorch\n", ":1: is no table of frameworks by models: it has 1 column."),
        ("t.csv", "framework,AlexNet\n\nPyTorch,fast\n", ":3: 'PyTorch', 'AlexNet': 'fast' is no number; write one like"),
        ("t.csv", "framework,AlexNet\nPyTorch,1,554\n", ":2: has 3 cells where the heading has 2. Numbers with a comma stand in quotes."),
        ("t.csv", "framework,A,B\nPyTorch,1\n", ":2: has 2 cells where the heading has 3."),
        ("t.csv", "framework,A,A\nPyTorch,1,2\n", ":1: two columns are called 'A'."),
        ("t.csv", "framework,A,A_pm,A_std\nPyTorch,1,2,3\n", ":1: column 'A_std' has no column 'A' of its own."),
        ("t.csv", "framework,A_pm\nPyTorch,1\n", ":1: column 'A_pm' has no column 'A' of its own."),
        ("t.csv", "framework,\nPyTorch,1\n", ":2: the model is '', which is no name."),
        ("t.csv", "framework,A\n?,1\n", ":2: the framework is '?', which is no name."),
        ("t.csv", "framework,A\nPy\x07Torch,1\n", ":2: the framework is 'Py\\x07Torch', which is no name."),
        ("t.csv", "framework,A\nPyTorch,-1\n", "'-1' is negative, which no throughput is."),
        ("t.csv", "framework,A\nPyTorch,0\n", "'0' is zero, which no throughput is; write N/A where there is no number."),
        ("t.csv", 'framework,A\n"PyTorch,1\n', ":2: is no valid CSV: "),
        (
            "t.csv",
            "framework,model,value,speed\nPyTorch,A,1,2\n",
            ":1: column 'speed': a table with the columns",
        ),
        ("t.csv", "framework,model,value,value\nPyTorch,A,1,2\n", ":1: column 'value': a table with"),
        ("t.csv", "framework,model,value,unit\nPyTorch,A,1,furlongs\n", ":2: 'furlongs' is no unit of throughput. There are: batches/s"),
        ("t.csv", "framework,model,value,unit\nPyTorch,A,1,ms\n", ":2: 'ms' is a time. Give rates: images/s"),
        ("t.csv", b"framework,A\nPyTorch,\xff\n", ": is no UTF-8 text: byte 20 is 0xff."),
        ("t.json", "", ": is no valid JSON: "),
        ("t.json", "5", ": is neither an object of frameworks nor a list of cells."),
        ("t.json", "{}", "there is no table in it."),
        ("t.json", '{"PyTorch": 5}', ": 'PyTorch': is no object."),
        ("t.json", "[5]", ": [0]: is no object."),
        ("t.json", '[{"framework": "PyTorch", "value": 5}]', ": [0]: model is missing."),
        ("t.json", '{"PyTorch": {"A": {"std": 5}}}', ": 'PyTorch'.'A': value is missing."),
        ("t.json", '{"PyTorch": {"A": {"value": 5, "sd": 5}}}', "has the field 'sd'; a cell has value, and perhaps std and unit."),
        ("t.json", '{"PyTorch": {"A": true}}', ": 'PyTorch'.'A': value is 'true'; write a number, a text or null."),
        ("t.json", '{"PyTorch": {"A": NaN}}', "NaN is no number of JSON's; write null where there is no number"),
        ("t.json", '{"PyTorch": {"A": -5}}', "'-5' is negative"),
        ("t.json", '{"PyTorch": {"A": 1e999}}', "'1e999' is out of range"),
        ("t.json", '{"PyTorch": {"A": 5, "A": 6}}', "'A' stands there twice in one object"),
        ("t.json", "[" * 100_000, ": is nested too deeply for a table."),
        ("t.json", '{"\\ud800PyTorch": {"A": 5}}', "the framework is '\\ud800PyTorch', which is no name."),
        ("t.json", '{"PyTorch": {"A": {"value": 5, "unit": "ms"}}}', ": 'PyTorch'.'A': 'ms' is a time."),
        ("t.md", "No table.\n", "there is no table in it."),
        ("t.md", "| framework | A |\n|---|---|\n| PyTorch | 1 | 2 |\n", ":3: has 3 cells where the heading has 2."),
        ("t.txt", "x", "a table is a file whose name ends with .csv, .json, .md, .markdown."),
    ],
)
def test_what_is_refused(tmp_path, name, text, message):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text, name)
    assert str(caught.value).startswith(str(tmp_path / name)) and message in str(caught.value)


def test_files_that_are_none(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name, message in (("folder.csv", "cannot be read: Is a directory."), ("nowhere.csv", "cannot be read: No such file")):
        with pytest.raises(UserError, match=message):
            files.read(tmp_path / name)


def test_a_file_of_another_kind_of_size(tmp_path):
    with pytest.raises(UserError, match="is larger than 10,000,000 bytes"):
        read(tmp_path, b"0" * (files.LARGEST_FILE + 1))


def test_blanks_without_end(tmp_path):
    """Headings are taken apart with a regular expression, and must not take time that grows with the square."""
    (entry,) = read(tmp_path, f"framework,A{' ' * 100_000}batch{' ' * 20_000}5x\nPyTorch,5\n")
    assert (entry.model, entry.batch) == ("A batch 5x", None)


def survives(reader, text):
    try:
        found = reader("t", text)
    except UserError as error:
        assert str(error).startswith("t")
    else:
        assert all(entry.value is None or entry.value.mean > 0 for entry in found)


GRIDS = st.lists(st.lists(WORDS, min_size=1, max_size=5), max_size=5)


@MANY
@given(st.one_of(st.text(), GRIDS.map(lambda rows: "\n".join(",".join(row) for row in rows))))
def test_any_csv(text):
    survives(files.from_csv, text)


def piped(rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in [*rows[:1], *(["---"] * len(row) for row in rows[:1]), *rows[1:]])


@MANY
@given(st.one_of(st.text(), GRIDS.map(piped)))
def test_any_markdown(text):
    survives(files.from_markdown, text)


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), WORDS)
FIELDS = st.dictionaries(WORDS, LEAVES, max_size=3)
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12)
TABLES = st.dictionaries(WORDS, st.dictionaries(WORDS, st.one_of(LEAVES, FIELDS), max_size=3), max_size=3)


@MANY
@given(st.one_of(st.text(), st.one_of(DOCUMENTS, TABLES).map(json.dumps)))
def test_any_json(text):
    survives(files.from_json, text)
