"""Tables as Markdown that renders as what it says."""

from helpers import Recorder

from harness.report.markdown import markdown
from harness.report.tables import Entry, Row, Table, tables


def table(**changes):
    fields = {"title": "T", "columns": ("A",), "rows": (Row(title="R", entries=(Entry(text="1 ± 0"),)),), "notes": (), "caption": ("C",)}
    return Table(**{**fields, **changes})


def test_a_whole_table():
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), [0.5, 0.52, 0.48])
    recorder.measured(recorder.plan("beta"), [0.2, 0.21, 0.19])
    recorder.ended(recorder.plan("gamma"), "unsupported", "no such build")
    assert markdown(*tables(recorder.load())) == (
        "### Inference, fp32, cpu: images per second\n"
        "\n"
        "| framework | MobileNet, batch 2, 32 px |\n"
        "|---|---:|\n"
        "| Alpha | 40.0 ± 1.6 |\n"
        "| Beta | **100.0 ± 5.0** |\n"
        "| Gamma | N/A [1] |\n"
        "\n"
        "Test CPU; 4 CPU threads; Alpha 1.0 (eager), Beta 1.0 (eager).\n"
        "Rate = all work / all time, ± standard deviation over 3 blocks; 30 steps a number.\n"
        "95 % interval of the rates: ± 9.9% to ± 12.4%; the budget ended 2 before 1.0% was reached.\n"
        "Timed: forward; inputs resident.\n"
        "Bold: fastest of its column, and what is not told apart from it.\n"
        "\n"
        "[1] no such build  \n"
    )


def test_pipes_and_html_are_escaped():
    text = markdown(
        table(title="a|b", columns=("c|d",), rows=(Row(title="<b>x", entries=(Entry(text="N/A", note=1),)),), notes=("<i> a|b\nc",))
    )
    assert text.splitlines()[0] == "### a\\|b"
    assert "| framework | c\\|d |" in text
    assert "| &lt;b>x | N/A [1] |" in text
    assert "[1] &lt;i> a\\|b c  " in text


def test_a_backslash_before_a_pipe():
    r"""Otherwise "\|" would become "\\|": an escaped backslash and a bare pipe."""
    assert r"| R\\\|S |" in markdown(table(rows=(Row(title=r"R\|S", entries=(Entry(text="x"),)),)))


def test_every_row_has_as_many_cells():
    wide = table(
        columns=("A|", "B"), rows=(Row(title="R|", entries=(Entry(text="1 ± 0", best=True), Entry(text="crashed", note=1))),), notes=("x",)
    )
    rows = [line for line in markdown(wide).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}


def test_without_notes_there_is_no_list_of_them():
    assert "[1]" not in markdown(table())
