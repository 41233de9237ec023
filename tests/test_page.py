"""The page of a run: it stands alone, it hides nothing, every link has an end, and no mark lies outside its strip."""

import csv
import html.parser
import io
import re
import urllib.parse

import pytest
from helpers import ROOT, Recorder
from hypothesis import given
from hypothesis import strategies as st

from harness.report import charts, whole
from harness.report.rows import HEADER

STEADY = [0.5, 0.52, 0.48, 0.51, 0.49, 0.5, 0.5]
HOSTILE = "<script>alert(1)</script> \"quoted\" & 'so' on"
EMPTY = {"meta"}  # elements that have no end


class Outline(html.parser.HTMLParser):
    """What a browser would find: elements with their attributes, the text, and no element left open."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open += [] if tag in EMPTY else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.words += [] if self.open[-1:] == ["style"] else [text]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def compared(**changes):
    """Alpha and Beta side by side, Gamma without a number."""
    recorder = Recorder(**{"adapters": ["alpha", "beta", "gamma"], **changes})
    for adapter, factor in (("alpha", 1.0), ("beta", 0.5)):
        recorder.measured(recorder.plan(adapter), [factor * seconds for seconds in STEADY])
    recorder.ended(recorder.plan("gamma"), "crashed", HOSTILE)
    return recorder


def test_it_stands_alone():
    """Nothing is fetched, nothing is executed, and a browser is told so."""
    outline = Outline(whole.as_page(compared().load()))
    assert {tag for tag, _ in outline.elements}.isdisjoint({"script", "link", "img", "iframe", "object", "form"})
    assert all(not name.startswith("on") and name != "src" for _, attributes in outline.elements for name in attributes)
    assert {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"} in [
        a for _, a in outline.elements
    ]


def test_it_says_what_the_tables_say():
    run = compared().load()
    text = Outline(whole.as_page(run)).text
    for said in ("3 cells: 2 ok, 1 crashed", "80.0 ± 2.1", "2.000 [2.000, 2.000] faster", "Test CPU", "harness run"):
        assert said in text, said


def test_what_others_wrote_is_text():
    outline = Outline(whole.as_page(compared().load()))
    assert f"crashed: {HOSTILE}" in outline.text


def test_every_link_has_an_end_and_every_name_is_given_once():
    outline = Outline(whole.as_page(compared().load()))
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    links = [urllib.parse.unquote(attributes["href"]) for tag, attributes in outline.elements if tag == "a"]
    assert len(names) == len(set(names)) and len(links) >= 6
    assert {link.removeprefix("#") for link in links} <= set(names)


def test_a_cell_that_failed_has_no_number_and_no_mark():
    """Its blocks are in the journal, and neither a chart nor its facts show them."""
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), STEADY)
    recorder.measured(recorder.plan("beta"), [0.1] * 7, error=0.5)
    run = recorder.load()
    text = Outline(whole.as_page(run)).text
    assert "parity-failed" in text and "200.0" not in text
    assert [line.name for chart in charts.blocks(run) for line in chart.lines] == ["Alpha"] and charts.ratios(run) == []


def test_an_overview_of_a_large_run_has_no_cells(monkeypatch):
    monkeypatch.setattr(whole, "LARGE", 2)
    outline = Outline(whole.as_page(compared().load()))
    assert "3 cells by how they ended" in outline.text and "details" not in {tag for tag, _ in outline.elements}


@pytest.mark.parametrize(("protocol", "said"), [("latency", "P99 14 ms"), ("iterations", "Iterations, MobileNet")])
def test_other_protocols(protocol, said):
    recorder = Recorder(protocol=protocol)
    cell = recorder.plan("alpha")
    check = {"what": "fp32 outputs", "error": 1e-7, "limit": 1e-5, "worst": "fc", "passed": True}
    recorder.journal.write("parity", cell=cell.key, checks=[check])
    recorder.journal.write("built", cell=cell.key, ledger={"framework": "Alpha", "version": "1.0", "execution": "eager", "window": "all"})
    for number in range(5):
        latencies = [0.01 + 0.001 * number] * 10 if protocol == "latency" else []
        recorder.journal.write(
            "block", cell=cell.key, label="timed", steps=10, seconds=0.1 + 0.01 * number, cpu_seconds=0.1, latencies=latencies
        )
    recorder.journal.write("finished", cell=cell.key, finite=True)
    recorder.ended(cell, "ok")
    run = recorder.load()
    assert said in Outline(whole.as_page(run)).text
    assert [len(line.marks) for chart in charts.blocks(run) for line in chart.lines] == [5]


class TestAxis:
    @given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20), st.booleans())
    def test_everything_lies_on_it(self, values, logarithmic):
        axis = charts.Axis(values, logarithmic)
        places = [axis.place(value) for value in values]
        assert all(-1e-6 <= place <= 100 + 1e-6 for place in places)
        assert sorted(values) == [value for _, value in sorted(zip(places, values, strict=True))]

    @given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20), st.booleans())
    def test_ticks_are_few_and_lie_where_they_say(self, values, logarithmic):
        axis = charts.Axis(values, logarithmic)
        ticks = axis.ticks()
        assert len(ticks) <= 2 * charts.TICKS
        for place, text in ticks:
            assert 0 <= place <= 100 and place == pytest.approx(axis.place(float(text.replace(",", "")) or 0.0), abs=0.1)

    @pytest.mark.parametrize(
        ("values", "logarithmic", "texts"),
        [
            ([41.2, 63.0], False, ["0", "20", "40", "60"]),
            ([0.19, 2.02], True, ["0.2", "0.5", "1", "2"]),
            ([0.97, 1.04], True, ["0.98", "1", "1.02", "1.04"]),
            ([0.001, 5000], True, ["0.001", "0.01", "0.1", "1", "10", "100", "1,000"]),
        ],
    )
    def test_ticks_are_what_a_reader_counts_in(self, values, logarithmic, texts):
        assert [text for _, text in charts.Axis(values, logarithmic).ticks()] == texts


def test_csv_has_every_cell_with_full_digits():
    run = compared().load()
    lines = list(csv.DictReader(io.StringIO(whole.FORMS["csv"](run))))
    assert tuple(lines[0]) == HEADER and all(None not in line.values() and "" not in line.values() for line in lines)
    assert [line["verdict"] for line in lines] == ["baseline", "faster", "crashed"]
    assert float(lines[1]["rate"]) == run.cells[1].rate.mean and float(lines[1]["ratio"]) == pytest.approx(2.0)
    assert lines[2]["rate"] == "N/A" and lines[2]["reason"] == HOSTILE


def test_the_command_line_prints_them(project):
    for option, start in (("--html", "<!doctype html>"), ("--csv", "framework,version,"), ("--markdown", "### ")):
        compared()
        assert project.run("show", option).out.startswith(start)


def test_the_template_names_no_address():
    template = (ROOT / "harness" / "report" / "page.html.jinja").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|url\(", template)
