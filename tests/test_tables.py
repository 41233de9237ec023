"""What tables say: numbers that may be compared, a reason for everything else, and nothing left blank."""

import re

import pytest
from helpers import Recorder

from harness.report import terminal
from harness.report.head_to_head import head_to_head
from harness.report.tables import plus_minus, tables
from harness.stats import Rate
from harness.statuses import Status

STEADY = [0.5, 0.52, 0.48]


def only(recorder):
    (table,) = tables(recorder.load())
    return table


def entries(table):
    """Rows by their title."""
    return {row.title: row.entries for row in table.rows}


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (1234.567, 123.4, "1,235 ± 123"),
        (1234.567, 12.34, "1,235 ± 12"),
        (1234.567, 1.234, "1,234.6 ± 1.2"),
        (1234.567, 0.1234, "1,234.57 ± 0.12"),
        (1234.567, 0.01234, "1,234.57 ± 0.01"),
        (1234.567, 0.0001, "1,234.57 ± 0.00"),
        (3.0, 0.0, "3.00 ± 0.00"),
        (0.0512, 0.0034, "0.0512 ± 0.0034"),
    ],
)
def test_plus_minus(mean, std, text):
    assert plus_minus(Rate(mean, std, 10, 100)) == text


@pytest.mark.parametrize("rate", [Rate(0.4, 0.0, 3, 3), Rate(0.0004, 0.00001, 3, 3)])
def test_a_small_rate_is_never_printed_as_zero(rate):
    assert re.search("[1-9]", plus_minus(rate).partition("±")[0])


def test_the_best_is_bold():
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), STEADY)
    recorder.measured(recorder.plan("beta"), [0.2, 0.21, 0.19])
    found = entries(only(recorder))
    assert (found["Alpha"][0].best, found["Beta"][0].best) == (False, True)
    assert found["Alpha"][0].text == "40.0 ± 1.6" and found["Alpha"][0].note is None


def test_the_only_number_is_not_the_best():
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), STEADY)
    recorder.ended(recorder.plan("beta"), "crashed", "gone")
    assert not any(entry.best for row in only(recorder).rows for entry in row.entries)


def test_an_unstable_number_is_marked_and_not_ranked():
    """Beta is fastest on paper, but unsteady: the best of the steady ones is in bold."""
    recorder = Recorder(measure={"unstable_above": 0.1})
    recorder.measured(recorder.plan("alpha"), STEADY)
    recorder.measured(recorder.plan("beta"), [0.1, 0.2, 0.05])
    recorder.measured(recorder.plan("gamma"), [0.6, 0.62, 0.58])
    table = only(recorder)
    beta = entries(table)["Beta"][0]
    assert (beta.best, beta.note) == (False, 1) and "±" in beta.text
    assert table.notes[0].startswith("unstable: standard deviation is ")
    assert entries(table)["Alpha"][0].best


@pytest.mark.parametrize("facts", [{"error": 0.5}, {"finite": False}])
def test_a_wrong_result_has_no_number(facts):
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), [0.01, 0.01, 0.01], **facts)
    for adapter in ("beta", "gamma"):
        recorder.measured(recorder.plan(adapter), STEADY if adapter == "beta" else [0.6, 0.6, 0.6])
    found = entries(only(recorder))
    assert found["Alpha"][0].text == "parity-failed" and not found["Alpha"][0].best
    assert found["Beta"][0].best


def test_notes_are_numbered_and_shared():
    recorder = Recorder()
    for model in ("mobilenet", "resnet18"):
        recorder.ended(recorder.plan("alpha", model=model), "unsupported", "no such build")
        recorder.ended(recorder.plan("beta", model=model), "unsupported", f"no {model}")
    table = only(recorder)
    assert [[(entry.text, entry.note) for entry in row.entries] for row in table.rows] == [[("N/A", 1)] * 2, [("N/A", 2), ("N/A", 3)]]
    assert table.notes == ("no such build", "no mobilenet", "no resnet18")


@pytest.mark.parametrize("status", [status for status in Status if not status.has_number])
def test_what_has_no_number_has_a_reason(status):
    recorder = Recorder()
    recorder.ended(recorder.plan("alpha"), status, "because")
    table = only(recorder)
    (entry,) = table.rows[0].entries
    assert entry.text == ("N/A" if status is Status.UNSUPPORTED else status) and entry.note == 1
    assert "because" in table.notes[0]


def test_nothing_is_blank_zero_or_nan():
    """A run of everything at once: each entry is a number with its spread or a word with a note."""
    recorder = Recorder()
    for index, status in enumerate(Status):
        cell = recorder.plan("alpha", batch=index + 1)
        if status is Status.OK:
            recorder.measured(cell, STEADY)
        elif status is Status.INTERRUPTED:
            pass
        else:
            recorder.ended(cell, status, "because")
    for row in only(recorder).rows:
        for entry in row.entries:
            assert re.fullmatch(r"[\d,.]*[1-9][\d,.]* ± [\d,.]+", entry.text) or (entry.text and entry.note)


@pytest.mark.parametrize("planned", range(5))
def test_a_run_killed_while_its_plan_was_written(planned):
    """Two frameworks and two models, of which only the first few cells reached the file."""
    recorder = Recorder()
    cells = [(model, adapter) for model in ("mobilenet", "resnet18") for adapter in ("alpha", "beta")]
    for model, adapter in cells[:planned]:
        recorder.plan(adapter, model=model)
    texts = [entry.text for table in tables(recorder.load()) for row in table.rows for entry in row.entries]
    assert texts.count("interrupted") == planned and all(texts)


def test_tables_by_mode_device_and_precision():
    recorder = Recorder()
    for mode in ("train", "infer"):
        for device in ("cpu", "cuda"):
            recorder.ended(recorder.plan("alpha", mode=mode, device=device), "unsupported", "x")
    assert [table.title for table in tables(recorder.load())] == [
        "Training, fp32, cpu: images per second",
        "Training, fp32, cuda: images per second",
        "Inference, fp32, cpu: images per second",
        "Inference, fp32, cuda: images per second",
    ]


def test_columns_and_captions():
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha", size=224, batch=8), STEADY)
    recorder.measured(recorder.plan("beta", size=224, batch=8), [*STEADY, 0.5])
    recorder.measured(recorder.plan("alpha", size=32), STEADY)
    recorder.measured(recorder.plan("beta", size=32), STEADY)
    table = only(recorder)
    assert table.columns == ("MobileNet, batch 8", "MobileNet, batch 2, 32 px")
    assert table.caption[0] == "Test CPU; 4 CPU threads; Alpha 1.0 (eager), Beta 1.0 (eager)."
    assert "± standard deviation over 3 to 4 blocks; in brackets the steps that a number rests on, 30 to 40." in table.caption[1]
    assert table.caption[2].startswith("95 % interval of the rates: ± ")
    assert table.caption[3] == "Timed: forward; inputs resident."


def test_models_that_count_other_work_have_their_unit_in_the_column():
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha", model="gnmt", size=50, batch=4), [0.5] * 3, work=350)
    recorder.measured(recorder.plan("alpha", model="gnmt-small", size=10, batch=4), [0.5] * 3, work=70)
    recorder.measured(recorder.plan("alpha", model="ncf", size=1, batch=4), [0.5] * 3, work=4)
    table = only(recorder)
    assert table.title == "Inference, fp32, cpu: tokens or samples per second"
    assert table.columns == ("GNMT v2, batch 4, tokens/s", "GNMT v2 small, batch 4, 10 tokens, tokens/s", "NCF, batch 4, samples/s")
    assert [entry.text for entry in table.rows[0].entries] == ["7,000 ± 0", "1,400 ± 0", "80.0 ± 0.0"]


def test_a_matched_track_has_a_table_of_its_own():
    recorder = Recorder()
    for track in ("as-shipped", "matched"):
        recorder.measured(recorder.plan("alpha", track=track), STEADY)
    titles = [table.title for table in tables(recorder.load())]
    assert titles == ["Inference, fp32, cpu: images per second", "Inference, fp32, cpu, matched: images per second"]


def test_ratios_have_intervals_verdicts_and_a_warning_where_one_differs_from_itself():
    recorder = Recorder(adapters=["alpha", "beta", "gamma"])
    times = [0.5 + 0.001 * (k % 3) for k in range(8)]
    recorder.measured(recorder.plan("alpha"), times)
    recorder.measured(recorder.plan("beta"), [t / 2 for t in times])
    recorder.ended(recorder.plan("gamma"), "crashed", "boom")
    recorder.measured(recorder.plan("alpha", copy_number=2), [t * 1.1 for t in times])
    (table,) = head_to_head(recorder.load())
    assert table.title == "Inference, fp32, cpu: ratios to Alpha"
    alpha, beta, gamma, again = (entries(table)[title][0].text for title in ("Alpha", "Beta", "Gamma", "Alpha again"))
    assert (alpha, gamma) == ("1", "crashed")
    assert beta.startswith("2.000 [") and beta.endswith("] faster")
    assert again.endswith("] slower")
    assert table.caption[-1].startswith("WARNING: Alpha differs from itself in MobileNet, batch 2, 32 px")


def test_an_unstable_cell_has_a_ratio_and_no_verdict():
    recorder = Recorder(adapters=["alpha", "beta"], measure={"unstable_above": 0.1})
    recorder.measured(recorder.plan("alpha"), [0.5, 0.51, 0.5])
    recorder.measured(recorder.plan("beta"), [0.1, 0.2, 0.05])
    (table,) = head_to_head(recorder.load())
    assert re.fullmatch(r"5\.\d+ \[.*\] unstable", entries(table)["Beta"][0].text)


def test_where_nothing_was_measured_there_are_no_ratios():
    recorder = Recorder(adapters=["alpha", "beta"])
    recorder.ended(recorder.plan("alpha"), "unsupported", "no device")
    recorder.measured(recorder.plan("beta"), STEADY)
    assert head_to_head(recorder.load()) == []


def test_settings_are_compared_column_by_column():
    """Alpha folds other subgraphs in another model; only Beta's layout differs from a rival's."""
    recorder = Recorder(adapters=["alpha", "beta"])
    for model, fused in (("mobilenet", 28), ("resnet50", 54)):
        for adapter, own in (("alpha", {"fused_subgraphs": fused, "layout": "NCHW"}), ("beta", {"layout": "NHWC"})):
            ledger = {"framework": adapter.title(), "version": "1", "execution": "eager", "window": "w", **own}
            recorder.measured(recorder.plan(adapter, model=model), STEADY, ledger=ledger)
    (table,) = head_to_head(recorder.load())
    assert [line for line in table.caption if "differ:" in line] == ["Settings differ: layout NCHW (Alpha); NHWC (Beta)."]


def test_variants_are_told_apart_where_there_are_several():
    recorder = Recorder()
    for adapter, variant in (("alpha", "eager"), ("alpha", "compiled"), ("beta", "eager")):
        recorder.ended(recorder.plan(adapter, variant=variant), "unsupported", "x")
    assert [row.title for row in only(recorder).rows] == ["Alpha (eager)", "Alpha (compiled)", "Beta"]


def test_an_empty_run_has_no_tables():
    assert tables(Recorder().load()) == []


def test_markup_of_a_framework_is_text(capsys):
    """Rich would take "[/bold]" for a tag, and fail."""
    recorder = Recorder(titles={"alpha": "Al[/bold]pha :smile:"})
    recorder.ended(recorder.plan("alpha"), "crashed", "[red]it[/blue] broke")
    terminal.console().print(terminal.render(only(recorder)))
    terminal.console().print(terminal.details(recorder.load()))
    out = capsys.readouterr().out
    assert "Al[/bold]pha :smile:" in out and out.count("[red]it[/blue] broke") == 2


def test_details(capsys):
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), STEADY)
    recorder.measured(recorder.plan("beta"), STEADY, error=0.5)
    terminal.console().print(terminal.details(recorder.load()))
    out = capsys.readouterr().out
    assert "30 steps in 3 blocks; CPU time / wall time 2.00" in out
    assert "passed: fp32 outputs: relative error 1.0e-07, limit 1e-05" in out
    assert "FAILED: fp32 outputs: relative error 5.0e-01, limit 1e-05" in out
