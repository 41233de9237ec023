"""`harness score` and `harness gold` as a user types them."""

import csv
import io
import json

import pytest
from helpers import Recorder, examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.gold import published

TITLES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow", "mxnet": "MXNet", "other": "Other"}
WIDE = "framework,AlexNet,AlexNet_pm,ResNet-50\nPyTorch,3000,30,N/A\nTF,3500,40,400\nChainer,900,9,500\n"


@pytest.fixture
def scored(project):
    """Score a table and return what JSON says of it."""

    def run(text, *options, name="table.csv"):
        (project.folder / name).write_text(text)
        outcome = project.run("score", name, "--format", "json", *options)
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    return run


# A table that follows a table of rates, as `harness show --markdown` writes it: no rates stand in it.
RATIOS = """
### Training, fp32, cpu: ratios to PyTorch

| framework | AlexNet, batch 2, 32 px |
|---|---:|
| PyTorch | 1 |
| MXNet | 1.518 [1.492, 1.578] faster |
"""


class TestPaperAgainstItself:
    """What `harness gold show` prints, `harness score` reads."""

    @pytest.fixture
    def itself(self, project, scored):
        text = project.run("gold", "show", "pytorch-paper", "--format", "csv").out
        return scored(text, "--claim", "PyTorch within 17% of fastest", "--baseline", "pytorch")

    def test_25_ratios_of_one_and_11_agreed(self, itself):
        ratios = [pair["ratio"] for pair in itself["absolute"]["pairs"]]
        assert ratios.count(1.0) == 25 and ratios.count(None) == 11
        assert itself["agreement"] == {"both_numbers": 25, "both_none": 11, "only_gold": 0, "only_prediction": 0, "missing": 0}
        assert {pair["difference_sd"] for pair in itself["absolute"]["pairs"]} == {0.0, None}

    def test_every_order_agrees(self, itself):
        assert [order["tau"] for order in itself["orders"]] == pytest.approx([1] * 6)
        claims = [claim["outcome"] for order in itself["orders"] for claim in order["claims"]]
        assert (claims.count("agreed"), claims.count("reversed"), claims.count("undecided")) == (41, 0, 7)

    def test_means_of_ratios(self, itself):
        assert itself["absolute"]["mean"] == itself["relative"]["mean"] == 1
        assert set(itself["relative"]["mean_by_framework"]) == set(itself["absolute"]["mean_by_framework"]) - {"PyTorch"}

    def test_both_readings_of_the_claim(self, itself):
        found = [(c["side"], c["denominator"].partition(":")[0], c["holds"], round(c["worst_percent"], 2)) for c in itself["claims"]]
        assert found == [
            ("gold", "the fastest", True, 16.88),
            ("gold", "PyTorch", False, 20.3),
            ("prediction", "the fastest", True, 16.88),
            ("prediction", "PyTorch", False, 20.3),
        ]


class TestTable:
    def test_the_whole_score_as_markdown(self, project):
        (project.folder / "t.csv").write_text(WIDE + "JAX,1,0,2\n")
        out = project.run("score", "t.csv", "--format", "markdown", "--baseline", "TF", "--claim", "TF faster than PyTorch").out
        assert "### t.csv against gold 'pytorch-paper'" in out and "- Gold ran on 1 NVIDIA Quadro GP100; 2 Intel Xeon E5-2698 v4." in out
        assert "| PyTorch | AlexNet | images/s | 3,000 ± 30 | 1,547 ± 316 | 1.939 | +4.6 sd |" in out
        assert "| PyTorch | ResNet-50 | images/s | N/A | 212 ± 2 | - | - |" in out
        assert "| MXNet | AlexNet | images/s | missing | 1,554 ± 22 | - | - |" in out
        assert "| gold has a number | 5 | 1 |" in out and "- PyTorch, ResNet-50: prediction N/A, gold 212 ± 2" in out
        assert "- 30 pairs of gold are missing in predictions and not counted.\n- Missing of AlexNet: CNTK, MXNet, PaddlePaddle\n" in out
        assert "| AlexNet | PyTorch > TensorFlow > Chainer | TensorFlow > PyTorch > Chainer | 0.33 | 2 | 0 | 1 |" in out
        assert "### Throughputs as multiples of TensorFlow" in out and "| PyTorch | AlexNet | x TensorFlow |" in out
        assert "| TF faster than PyTorch | prediction | PyTorch: 1 - TensorFlow / PyTorch | holds | 16.67 % ahead on AlexNet | 1 |" in out
        assert "### Not compared\n\n- JAX, AlexNet (t.csv:5): gold has no such framework\n" in out

    def test_a_number_where_gold_has_none_is_listed(self, project):
        (project.folder / "t.csv").write_text("framework,VGG-19\nChainer,100\n")
        assert "Chainer, VGG-19: prediction 100, gold N/A" in project.run("score", "t.csv").out

    def test_csv(self, project):
        (project.folder / "t.csv").write_text(WIDE)
        rows = list(csv.DictReader(io.StringIO(project.run("score", "t.csv", "--format", "csv").out)))
        assert len(rows) == 36 and all(all(row.values()) for row in rows)
        assert rows[5] == {
            "framework": "PyTorch",
            "model": "AlexNet",
            "unit": "images/s",
            "prediction": "3000.0",
            "prediction_std": "30.0",
            "gold": "1547.0",
            "gold_std": "316.0",
            "ratio": repr(3000 / 1547),
            "difference_sd": rows[5]["difference_sd"],
        }

    def test_every_form_says_the_same(self, project, scored):
        long = "framework,model,value,std\nPyTorch,AlexNet,3000,30\nTF,AlexNet,3500,40\nTF,ResNet-50,400,\nPyTorch,ResNet-50,,\n"
        long += "Chainer,AlexNet,900,9\nChainer,ResNet-50,500,\n"
        marked = (
            "| | AlexNet | ResNet-50 |\n|-|-|-|\n| PyTorch | 3000 ± 30 | N/A |\n| TF | 3500 ± 40 | 400 |\n| Chainer | 900 ± 9 | 500 |\n"
        )
        document = {
            "PyTorch": {"AlexNet": "3000 ± 30", "ResNet-50": None},
            "TF": {"AlexNet": {"value": 3500, "std": 40}, "ResNet-50": 400},
            "Chainer": {"AlexNet": "900 ± 1%", "ResNet-50": 500},
        }
        forms = {"w.csv": WIDE, "l.csv": long, "m.md": marked, "j.json": json.dumps(document)}
        found = [{**scored(text, name=name), "predictions": ""} for name, text in forms.items()]
        assert all(other == found[0] for other in found[1:])

    def test_a_gold_file_of_ones_own(self, project, scored):
        (project.folder / "mine.toml").write_text(
            'version = 1\ntitle = "T"\nsource = "S"\nhardware = "H"\nspread = "none"\nconditions = ["C"]\n'
            'cells = "framework,AlexNet\\nPyTorch,20\\n"\n[defaults]\nunit = "images/s"\ngiven = "ms"\nsamples = 4\n'
        )
        found = scored("framework,AlexNet\nPyTorch,100\n", "--gold", "mine.toml")
        assert found["gold"] == "mine" and found["absolute"]["pairs"][0]["ratio"] == 0.5
        assert "PyTorch" in project.run("gold", "show", "mine.toml").out


class TestRun:
    @pytest.fixture
    def recorded(self, project):
        """AlexNet in training and inference; ResNet-50 in training."""
        recorder = Recorder(titles=TITLES, measure={"unstable_above": 0.2})
        for mode, seconds in (("train", 1.0), ("infer", 0.1)):
            recorder.measured(recorder.plan("pytorch", model="alexnet", mode=mode), [seconds, seconds * 1.02, seconds * 0.98])
        recorder.measured(recorder.plan("tensorflow", model="alexnet", mode="train"), [1, 2, 1])
        recorder.ended(recorder.plan("mxnet", model="alexnet", mode="train"), "crashed", "gone")
        recorder.ended(recorder.plan("pytorch", model="vgg19", mode="train"), "unsupported", "no")
        recorder.measured(recorder.plan("other", model="resnet50", mode="train"), [1, 1.01, 0.99])
        recorder.load()
        return recorder

    def score(self, project, *options):
        outcome = project.run("score", *options, "--format", "json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    @pytest.mark.parametrize("name", ["last", "id", "path"])
    def test_training_is_scored_against_training(self, project, recorded, name):
        folder = recorded.journal.folder
        found = self.score(project, {"last": "last", "id": folder.name, "path": str(folder)}[name])
        pairs = {(pair["framework"], pair["model"]): pair for pair in found["absolute"]["pairs"]}
        assert found["predictions"] == f"run {folder.name}"
        assert pairs["PyTorch", "AlexNet"]["prediction"]["mean"] == pytest.approx(20, rel=0.01)
        assert pairs["MXNet", "AlexNet"]["word"] == "crashed" and pairs["PyTorch", "VGG-19"]["word"] == "N/A"
        assert found["notes"] == ["1 of the run's numbers are unstable and scored like the others"]
        assert [line.rpartition(": ")[2] for line in found["not_compared"]] == ["infer, and gold's is train", "gold has no such framework"]

    def test_the_runs_tables_score_like_the_run(self, project, recorded):
        """What `harness show --markdown` writes is read with mode, precision, device, unit, batch and size."""
        (project.folder / "tables.md").write_text(project.run("show", "--markdown").out + RATIOS)
        run, tables = self.score(project, "last"), self.score(project, "tables.md")
        assert tables["agreement"]["both_numbers"] == run["agreement"]["both_numbers"] == 2
        assert [pair["word"] for pair in tables["absolute"]["pairs"]] == [pair["word"] for pair in run["absolute"]["pairs"]]
        for one, other in zip(run["absolute"]["pairs"], tables["absolute"]["pairs"], strict=True):
            assert one["ratio"] == (None if other["ratio"] is None else pytest.approx(other["ratio"], rel=0.01))

    def test_inference_when_asked(self, project, recorded):
        found = self.score(project, "last", "--mode", "infer")
        pairs = {(pair["framework"], pair["model"]): pair for pair in found["absolute"]["pairs"]}
        assert pairs["PyTorch", "AlexNet"]["prediction"]["mean"] == pytest.approx(200, rel=0.01)
        assert found["notes"][1:] == ["AlexNet: mode infer, and gold's is train"]

    def test_several_cells_of_a_pair(self, project):
        recorder = Recorder(titles=TITLES)
        for variant in ("eager", "compile"):
            recorder.measured(recorder.plan("pytorch", model="alexnet", mode="train", variant=variant), [1, 1.01, 0.99])
        recorder.load()
        outcome = project.run("score", "last")
        assert outcome.code == 2 and outcome.err == (
            "Error: PyTorch, AlexNet: 2 predictions fit: alexnet/train/cpu/fp32/b2/s32/pytorch/eager, "
            "alexnet/train/cpu/fp32/b2/s32/pytorch/compile. Choose: --variant pytorch=eager or pytorch=compile.\n"
        )
        assert self.score(project, "last", "--variant", "pytorch=compile")["agreement"]["both_numbers"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "nowhere.csv"], "nowhere.csv: cannot be read: No such file or directory."),
        (["score", "nope"], "'nope' is no run: "),
        (["score", "nope"], "A table is a file whose name ends with .csv, .json, .md, .markdown."),
        (["score", "a" * 5000], "...': cannot be looked for: File name too long."),
        (["score", "."], "'.' is no run: "),
        (["score", ""], "'' is no run: "),
        (["score", "table.csv", "--gold", ""], "'' is no gold table."),
        (["score", "table.txt"], "table.txt: a table is a file whose name ends with"),
        (["score", "table.csv", "--gold", "pytorch-papre"], "'pytorch-papre' is no gold table. Did you mean 'pytorch-paper'?"),
        (["score", "table.csv", "--gold", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory."),
        (["score", "table.csv", "--baseline", "PyTroch"], "'PyTroch' is no framework of gold. Did you mean 'PyTorch'?"),
        (["score", "table.csv", "--claim", "x"], "--claim 'x': is not understood. Write \"PyTorch within 17% of fastest\""),
        (["score", "table.csv", "--variant", "eager"], "--variant 'eager': write FRAMEWORK=VARIANT, for example pytorch=compile."),
        (["score", "table.csv", "--precision", "fp23"], "'fp23' is no precision. Did you mean 'fp32'?"),
        (["gold", "show", "pytorch-papre"], "'pytorch-papre' is no gold table. Did you mean 'pytorch-paper'?"),
        (["gold", "shwo"], "'shwo' is no command. Did you mean 'show'?"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(project, arguments, message):
    (project.folder / "table.csv").write_text(WIDE)
    (project.folder / "table.txt").write_text(WIDE)
    outcome = project.run(*arguments)
    assert outcome.code == 2 and outcome.out == "" and outcome.err.startswith("Error: ") and message in outcome.err


def test_gold_list(project):
    out = project.run("gold", "list").out
    for name in published.shipped():
        assert f" {name} " in out


def test_gold_show(project):
    out = project.run("gold", "show", "pytorch-paper", "--format", "markdown").out
    assert "| AlexNet | images/s | 778 ± 15 | 845 ± 8 | 1,554 ± 22 | 933 ± 123 | 1,422 ± 27 | 1,547 ± 316 |" in out
    assert "- Hardware: 1 NVIDIA Quadro GP100" in out and "±: not said to be a standard deviation" in out
    assert "Throughput here: 1000 x samples / milliseconds" in project.run("gold", "show", "convnet-benchmarks").out


CELLS = st.sampled_from(["1", "5 ± 1", "1e15", "1e-9", "1e-9 ± 1e15", "N/A", "3 ± 0", "7 ± 50%", "0", "x"])


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["terminal", "markdown", "csv", "json"]),
    st.sampled_from([[], ["--baseline", "TF"], ["--claim", "TF within 5% of fastest"]]),
)
def test_any_table_has_a_score_or_an_error(project, rows, form, options):
    """Exit code 0 or 2, and no trace: the runner would raise what no one caught. No NaN or infinity is printed."""
    names = ["PyTorch", "TF", "MXNet", "Chainer"]
    text = "framework,AlexNet,VGG-19,NCF\n" + "".join(f"{name},{','.join(row)}\n" for name, row in zip(names, rows, strict=False))
    (project.folder / "t.csv").write_text(text)
    outcome = project.run("score", "t.csv", "--format", form, *options)
    assert outcome.code in (0, 2) and "Traceback" not in outcome.err
    assert not {"nan", "inf", "Infinity", "NaN"} & set(outcome.out.replace(",", " ").split())
