"""Matching, comparing, ordering and claims: small tables whose score can be worked out by hand."""

import contextlib
import math

import pytest
from helpers import write_toml
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UserError
from harness.gold import files, published
from harness.gold.records import Entry, Value
from harness.scoring.claims import check, parse
from harness.scoring.compare import agreement, compare, geometric_mean, relative_to
from harness.scoring.match import Choice, differing_conditions, match
from harness.scoring.order import ahead, order
from harness.scoring.predictions import Predictions
from harness.scoring.score import score

POSITIVE = st.floats(1e-6, 1e9)
VALUES = st.builds(lambda mean, std: Value(mean=mean, std=std), POSITIVE, st.none() | st.floats(0, 1e9))


@pytest.fixture
def gold(tmp_path):
    """A gold table of training in images a second, from CSV."""

    def made(cells, **changes):
        fields = {"version": 1, "title": "T", "source": "S", "hardware": "H", "spread": "sd", "conditions": ["C"], "cells": cells}
        defaults = {"unit": "images/s", "mode": "train", "precision": "fp32", "spread": "absolute"}
        return published.read(write_toml(tmp_path / "gold.toml", {**fields, "defaults": defaults, **changes}))

    return made


def table(text):
    return files.from_csv("p.csv", text)


def cell(framework="PyTorch", model="AlexNet", mean=5.0, **conditions):
    return Entry(framework=framework, model=model, value=Value(mean=mean), where=f"{framework}/{model}/{conditions}", **conditions)


def scored(gold, entries, **choice):
    return compare(match(entries, gold, Choice(**choice)), gold)


class TestMatch:
    def test_aliases(self, gold):
        found = match(
            table("framework,alexnet,ResNet 50\nTF,1,2\npaddle,3,4\n"),
            gold("framework,AlexNet,ResNet-50\nTensorFlow,5,6\nPaddlePaddle,7,8"),
            Choice(),
        )
        assert {pair: entry.value.mean for pair, entry in found.pairs.items()} == {
            ("TensorFlow", "AlexNet"): 1,
            ("TensorFlow", "ResNet-50"): 2,
            ("PaddlePaddle", "AlexNet"): 3,
            ("PaddlePaddle", "ResNet-50"): 4,
        }

    def test_what_has_no_place_is_listed_with_the_reason(self, gold):
        found = match(table("framework,AlexNet,NIN\nPyTorch,1,2\nJAX,3,4\n"), gold("framework,AlexNet\nPyTorch,5"), Choice())
        assert [(s.entry.framework, s.entry.model, s.why) for s in found.strangers] == [
            ("PyTorch", "NIN", "gold has no such model"),
            ("JAX", "AlexNet", "gold has no such framework"),
            ("JAX", "NIN", "gold has no such framework"),
        ]

    def test_golds_mode_and_precision_are_taken(self, gold):
        entries = [cell(mode=mode, precision=precision) for mode in ("train", "infer") for precision in ("fp32", "fp16")]
        found = match(entries, gold("framework,AlexNet\nPyTorch,5"), Choice())
        assert found.pairs == {("PyTorch", "AlexNet"): entries[0]}
        assert [s.why for s in found.strangers] == [
            "fp16, and gold's is fp32",
            "infer, and gold's is train",
            "infer, and gold's is train, fp16, and gold's is fp32",
        ]

    def test_an_option_replaces_golds_condition_and_that_is_said(self, gold):
        entries = [cell(mode=mode) for mode in ("train", "infer")]
        found = match(entries, gold("framework,AlexNet\nPyTorch,5"), Choice(mode="infer"))
        assert found.pairs == {("PyTorch", "AlexNet"): entries[1]} and found.strangers[0].why == "not among the chosen"
        assert differing_conditions(found) == ["AlexNet: mode infer, and gold's is train"]

    def test_an_option_says_what_a_table_does_not(self, gold):
        found = match([cell()], gold("framework,AlexNet\nPyTorch,5"), Choice(mode="infer", precision="fp16", batch=77))
        assert differing_conditions(found) == ["AlexNet: mode infer, and gold's is train", "AlexNet: precision fp16, and gold's is fp32"]

    def test_an_option_chooses_among_golds_columns(self, gold):
        columns = {f"VGG-16 {mode}": {"model": "VGG-16", "mode": mode} for mode in ("train", "infer")}
        table = gold("framework,VGG-16 train,VGG-16 infer\nPyTorch,5,6", columns=columns)
        entries = [cell(model="VGG-16")]
        assert list(match(entries, table, Choice(mode="infer")).pairs) == [("PyTorch", "VGG-16 infer")]
        with pytest.raises(UserError, match=r"'VGG-16' may be gold's VGG-16 train, VGG-16 infer\. .* choose: --mode train or infer\."):
            match(entries, table, Choice())

    @pytest.mark.parametrize(
        ("conditions", "way"),
        [
            ([{"batch": 8}, {"batch": 16}], "--batch 8 or 16"),
            ([{"device": "cpu"}, {"device": "cuda"}], "--device cpu or cuda"),
            ([{"variant": "eager"}, {"variant": "compile"}], "--variant pytorch=eager or pytorch=compile"),
            ([{"batch": 8, "device": "cpu"}, {"batch": 16, "device": "cuda"}], "--batch 8 or 16, --device cpu or cuda"),
        ],
    )
    def test_an_ambiguity_says_how_to_choose(self, gold, conditions, way):
        entries = [cell(**each) for each in conditions]
        with pytest.raises(UserError) as caught:
            match(entries, gold("framework,AlexNet\nPyTorch,5"), Choice())
        assert str(caught.value).startswith("PyTorch, AlexNet: 2 predictions fit: ") and str(caught.value).endswith(f"Choose: {way}.")

    @pytest.mark.parametrize("choice", [{"batch": 8}, {"device": "cpu"}, {"variants": {"pytorch": "eager"}}])
    def test_a_choice_ends_the_ambiguity(self, gold, choice):
        entries = [cell(batch=8, device="cpu", variant="eager"), cell(batch=16, device="cuda", variant="compile")]
        assert list(match(entries, gold("framework,AlexNet\nPyTorch,5"), Choice(**choice)).pairs.values()) == entries[:1]

    def test_a_batch_must_agree_only_in_a_sweep(self, gold):
        single, sweep = (
            gold('framework,"AlexNet, batch 64"\nPyTorch,5'),
            gold('framework,"AlexNet, batch 64","AlexNet, batch 128"\nPyTorch,5,6'),
        )
        assert list(match([cell(batch=128)], sweep, Choice()).pairs) == [("PyTorch", "AlexNet, batch 128")]
        assert match([cell(batch=32)], sweep, Choice()).strangers[0].why == "gold has the batches 64, 128"
        found = match([cell(batch=32)], single, Choice())
        assert list(found.pairs) == [("PyTorch", "AlexNet, batch 64")]
        assert differing_conditions(found) == ["AlexNet, batch 64: batch 32, and gold's is 64"]

    def test_a_model_named_without_its_batch(self, gold):
        sweep = gold('framework,"AlexNet, batch 64","AlexNet, batch 128"\nPyTorch,5,6')
        with pytest.raises(UserError, match=r"'AlexNet' may be gold's AlexNet, batch 64, AlexNet, batch 128.* choose: --batch 64 or 128"):
            match([cell()], sweep, Choice())
        assert list(match([cell()], sweep, Choice(batch=64)).pairs) == [("PyTorch", "AlexNet, batch 64")]

    def test_duplicates(self, gold):
        with pytest.raises(
            UserError, match=r"TensorFlow, AlexNet stands there 2 times: p.csv:2 \(TF, AlexNet\), p.csv:3 \(TensorFlow, AlexNet\)"
        ):
            match(table("framework,AlexNet\nTF,1\nTensorFlow,2\n"), gold("framework,AlexNet\nTensorFlow,5"), Choice())

    def test_units(self, gold):
        entries = table("framework,model,value,unit\nPyTorch,AlexNet,1,tok/s\n")
        with pytest.raises(UserError, match=r"^p\.csv:2: PyTorch, AlexNet is in tokens/s, and gold in images/s\.$"):
            match(entries, gold("framework,AlexNet\nPyTorch,5"), Choice())


class TestCompare:
    def test_cells(self, gold):
        pairs = scored(
            gold("framework,AlexNet\nPyTorch,100 ± 3\nTF,50\nMXNet,N/A\nCNTK,7"),
            table("framework,AlexNet\nPyTorch,110 ± 4\nTF,N/A\nMXNet,9\n"),
        )
        assert [(p.ratio, p.deviations, p.missing, p.word) for p in pairs] == [
            (pytest.approx(1.1), pytest.approx(2.0), False, "N/A"),
            (None, None, False, "N/A"),
            (None, None, False, "N/A"),
            (None, None, True, "missing"),
        ]
        assert agreement(pairs).model_dump() == {"both_numbers": 1, "both_none": 0, "only_gold": 1, "only_prediction": 1, "missing": 1}

    @pytest.mark.parametrize(("one", "other"), [("5", "5 ± 1"), ("5 ± 1", "5"), ("5 ± 0", "6 ± 0")])
    def test_without_spreads_there_is_no_difference_in_them(self, gold, one, other):
        (pair,) = scored(gold(f"framework,AlexNet\nPyTorch,{one}"), table(f"framework,AlexNet\nPyTorch,{other}\n"))
        assert pair.deviations is None

    def test_multiples_of_a_baseline(self, gold):
        """Hardware four times as fast: every ratio is 4, and every ratio of multiples 1."""
        pairs = scored(
            gold("framework,AlexNet,NIN\nPyTorch,100 ± 3,\nTF,50 ± 2,7"),
            table("framework,AlexNet,NIN\nPyTorch,400 ± 16,5\nTF,200 ± 6,28\n"),
        )
        (tf,) = relative_to(pairs, "pytorch")
        assert (tf.framework, tf.model, tf.unit, tf.ratio) == ("TF", "AlexNet", "x PyTorch", 1)
        assert tf.gold.mean == 0.5 and tf.gold.std == pytest.approx(0.5 * math.hypot(0.03, 0.04))
        assert tf.prediction.std == pytest.approx(0.5 * math.hypot(0.04, 0.03))

    def test_a_baseline_that_gold_lacks(self, gold):
        with pytest.raises(UserError, match=r"'PyTroch' is no framework of gold\. Did you mean 'PyTorch'\?"):
            relative_to(scored(gold("framework,AlexNet\nPyTorch,5"), []), "PyTroch")

    def test_geometric_mean(self):
        assert (
            geometric_mean([0.5, 2.0]) == pytest.approx(1) and geometric_mean([8, 1, 1]) == pytest.approx(2) and geometric_mean([]) is None
        )

    @given(VALUES, VALUES, VALUES, st.floats(0.01, 100))
    def test_a_faster_machine_changes_no_multiple(self, one, base, gold, factor):
        faster = [Value(mean=v.mean * factor, std=None if v.std is None else v.std * factor) for v in (one, base)]
        assert faster[0].over(faster[1]).mean == pytest.approx(one.over(base).mean)


class TestOrder:
    def found(self, gold, golden, predicted):
        names = ["PyTorch", "TF", "MXNet", "CNTK"][: len(golden)]
        rows = ["".join(f"{name},{value}\n" for name, value in zip(names, values, strict=True)) for values in (golden, predicted)]
        return order("A", scored(gold("framework,AlexNet\n" + rows[0]), table("framework,AlexNet\n" + rows[1])))

    def test_the_same_order(self, gold):
        found = self.found(gold, ["30 ± 1", "20 ± 1", "10 ± 1"], ["3 ± 0.1", "2 ± 0.1", "1 ± 0.1"])
        assert found.gold == found.prediction == ("PyTorch", "TF", "MXNet") and found.tau == pytest.approx(1)
        assert [found.count(outcome) for outcome in ("agreed", "reversed", "undecided")] == [3, 0, 0]

    def test_agreed_reversed_and_undecided(self, gold):
        """TF and MXNet change places beyond their spreads; PyTorch and TF come too close to tell."""
        found = self.found(gold, ["30 ± 1", "20 ± 1", "10 ± 1"], ["30 ± 5", "22 ± 4", "40 ± 1"])
        assert {(claim.faster, claim.slower): claim.outcome for claim in found.claims} == {
            ("PyTorch", "TF"): "undecided",
            ("PyTorch", "MXNet"): "reversed",
            ("TF", "MXNet"): "reversed",
        }
        assert found.prediction == ("MXNet", "PyTorch", "TF") and found.tau == pytest.approx(-1 / 3)

    def test_undecided_in_gold(self, gold):
        assert self.found(gold, ["30 ± 6", "20 ± 6"], ["30 ± 1", "20 ± 1"]).claims[0].outcome == "undecided"

    def test_without_spreads_the_means_decide(self, gold):
        assert self.found(gold, ["30", "20"], ["21", "20"]).claims[0].outcome == "agreed"
        assert self.found(gold, ["30", "20"], ["20", "20"]).claims[0].outcome == "undecided"

    def test_what_has_no_number_on_a_side_has_no_place(self, gold):
        found = self.found(gold, ["30", "N/A", "10"], ["3", "2", "N/A"])
        assert found.gold == ("PyTorch",) and found.tau is None and found.claims == ()

    @pytest.mark.filterwarnings("error")
    def test_all_equal(self, gold):
        assert self.found(gold, ["30", "30"], ["2", "1"]).tau is None

    @given(VALUES, VALUES)
    def test_ahead_is_antisymmetric(self, one, other):
        assert ahead(one, other) == -ahead(other, one) and ahead(one, one) == 0


class TestClaims:
    @pytest.fixture
    def paper(self):
        gold = published.load("pytorch-paper")
        entries = [Entry(framework=framework, model=model, value=value, where="x") for (framework, model), value in gold.cells.items()]
        return compare(match(entries, gold, Choice()), gold)

    def test_the_papers_claim_hangs_on_its_denominator(self, paper):
        """Within 17 % of the fastest: true of the fastest's part, 16.88 %, and not of PyTorch's own, 20.30 %."""
        verdicts = check(parse("PyTorch within 17% of fastest", paper), paper)
        found = {(v.side, v.denominator): (v.holds, v.worst_model, round(v.worst_percent, 2), v.models) for v in verdicts}
        assert found == {
            (side, denominator): (holds, "MobileNet", worst, 6)
            for side in ("gold", "prediction")
            for denominator, holds, worst in (
                ("the fastest: 1 - PyTorch / the fastest", True, 16.88),
                ("PyTorch: the fastest / PyTorch - 1", False, 20.30),
            )
        }

    @pytest.mark.parametrize(
        ("claim", "holds", "worst", "models", "left_out"),
        [
            ("PyTorch within 16.8% of the fastest", False, 16.876, 6, 0),
            ("pytorch within 0.46 % of MXNet on AlexNet", True, 0.4505, 1, 0),
            ("PyTorch within 0.44% of MXNet on alexnet", False, 0.4505, 1, 0),
            ("PyTorch faster than TF", True, -6.0, 6, 0),
            ("MXNet faster than PyTorch", False, 5.042, 4, 2),
            ("MXNet faster than Paddle on ResNet 50", True, -13.54, 1, 0),
            ("Chainer faster than PyTorch on VGG-19", None, None, 0, 1),
        ],
    )
    def test_on_gold(self, paper, claim, holds, worst, models, left_out):
        verdict = check(parse(claim, paper), paper)[0]
        assert (verdict.holds, verdict.models, len(verdict.left_out)) == (holds, models, left_out)
        assert verdict.worst_percent == (None if worst is None else pytest.approx(worst, rel=1e-3))

    def test_exactly_the_limit_holds(self, gold):
        """1 - 83 / 100 is a little above 0.17 in floating point."""
        pairs = scored(gold("framework,AlexNet\nPyTorch,83\nTF,100"), table("framework,AlexNet\nPyTorch,83\nTF,100\n"))
        assert check(parse("PyTorch within 17% of fastest", pairs), pairs)[0].holds

    def test_alone_one_is_not_the_fastest(self, gold):
        pairs = scored(gold("framework,AlexNet\nPyTorch,83\nTF,N/A"), [])
        assert check(parse("PyTorch within 17% of fastest", pairs), pairs)[0].holds is None

    @pytest.mark.parametrize(
        ("claim", "message"),
        [
            ("PyTorch is great", "--claim 'PyTorch is great': is not understood. Write \"PyTorch within 17% of fastest\""),
            ("", "is not understood"),
            ("PyTroch within 17% of fastest", "'PyTroch' is no framework of gold. Did you mean 'PyTorch'?"),
            ("PyTorch within 17% of fatsest", "'fatsest' is no framework of gold."),
            ("PyTorch faster than fastest", "'fastest' is no framework of gold."),
            ("PyTorch faster than TF on AlexNte", "'AlexNte' is no model of gold. Did you mean 'AlexNet'?"),
            ("x" * 400, "is too long for a claim"),
        ],
    )
    def test_what_is_refused(self, paper, claim, message):
        with pytest.raises(UserError) as caught:
            parse(claim, paper)
        assert message in str(caught.value)

    @given(
        st.text(max_size=60)
        | st.lists(st.sampled_from(["PyTorch", "TF", "within", "5%", "of", "fastest", "on", "AlexNet", "faster than"])).map(" ".join)
    )
    def test_any_claim(self, text):
        pairs = TestClaims.PAIRS
        with contextlib.suppress(UserError):
            check(parse(text, pairs), pairs)

    PAIRS = compare(match([], published.load("pytorch-paper"), Choice()), published.load("pytorch-paper"))


def test_nothing_that_fits_is_an_error(gold):
    entries = [cell(mode="infer", model=model) for model in "ABCDEFG"]
    with pytest.raises(UserError) as caught:
        score(Predictions("p.csv", entries), gold("framework,AlexNet\nPyTorch,5"))
    assert str(caught.value).startswith("p.csv: none of 7 predictions fits gold 'gold':\n  PyTorch, A (") and "and 2 more" in str(
        caught.value
    )


@pytest.mark.parametrize("name", list(published.shipped()))
def test_every_gold_table_agrees_with_itself(name):
    gold = published.load(name)
    entries = [Entry(framework=f, model=m, value=value, where=f"{f}, {m}") for (f, m), value in gold.cells.items()]
    found = score(Predictions("itself", entries), gold, baseline=gold.frameworks[0])
    numbers, without = gold.count()
    assert found.agreement.model_dump() == {
        "both_numbers": numbers,
        "both_none": without,
        "only_gold": 0,
        "only_prediction": 0,
        "missing": 0,
    }
    assert all(pair.ratio in (None, 1) for ratios in (found.absolute, found.relative) for pair in ratios.pairs)
    assert all(order.tau is None or order.tau == pytest.approx(1) for order in found.orders)
    assert not found.not_compared and not found.notes
    assert not any(order.count("reversed") for order in found.orders)
