"""Plain tables: numbers that keep their digits, and text that stays text."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from harness.report import terminal
from harness.report.sheets import Sheet, comma_separated, markdown, number, plus_minus, render

SHEET = Sheet("T|itle", ("a", "b"), (("x|y", "1*2"), ("[bold]", "2")), ("a <line>",))


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (1547, 316, "1,547 ± 316"),
        (219, 1, "219 ± 1"),
        (4.8e6, 139_200, "4,800,000 ± 139,200"),
        (9631, 125.203, "9,631 ± 125"),
        (13.489, 0.083, "13.489 ± 0.083"),
        (0.50291, 0.10317, "0.503 ± 0.103"),
        (1580.247, None, "1,580"),
        (16.6606, None, "16.66"),
        (5.5, 0, "5.50 ± 0.00"),
        (5.5, 1e-9, "5.5000 ± 1e-09"),
        (1e-9, None, "1e-09"),
    ],
)
def test_plus_minus(mean, std, text):
    assert plus_minus(mean, std) == text


@given(st.floats(1e-12, 1e24), st.none() | st.floats(1e-12, 1e30))
def test_nothing_is_printed_as_a_zero_that_it_is_not(mean, std):
    parts = [float(part.replace(",", "")) for part in plus_minus(mean, std).split(" ± ")]
    assert parts[0] == pytest.approx(mean, rel=0.01) and (std is None or parts[1] > 0)
    assert float(number(mean).replace(",", "")) == pytest.approx(mean, rel=0.001)


def test_markdown():
    assert markdown([SHEET, Sheet("Words", lines=("one", "two"))]) == (
        "### T\\|itle\n\n| a | b |\n|---|---:|\n| x\\|y | 1\\*2 |\n| [bold] | 2 |\n\n- a &lt;line>\n\n### Words\n\n- one\n- two\n"
    )


def test_terminal_takes_no_text_for_markup(capsys):
    terminal.console().print(render([SHEET]))
    out = capsys.readouterr().out
    assert "T|itle" in out and "[bold]" in out and re.search(r"x\|y +│ +1\*2", out) and "a <line>" in out


def test_csv():
    assert comma_separated(("a", "b"), [("1,5", 'say "x"')]) == 'a,b\n"1,5","say ""x"""\n'


def test_a_table_wider_than_the_terminal_comes_in_parts_and_no_number_is_cut():
    sheet = Sheet(
        "Wide",
        ("framework", "batch", *(f"column {n}" for n in range(9))),
        (("PyTorch", "16", *(f"{n}23,456.789" for n in range(9))),),
        left=2,
    )
    console = Console(width=60, file=io.StringIO())
    console.print(render([sheet], 60))
    text = console.file.getvalue()
    assert all(f"{n}23,456.789" in text for n in range(9)) and "…" not in text
    assert text.count("PyTorch") == text.count("framework") == 5  # with the names in each part
    assert max(map(len, text.splitlines())) <= 60
