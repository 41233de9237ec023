"""What the timed loop costs: the one claim about speed that is tested here."""

import runpy

from helpers import ROOT


def test_less_than_a_microsecond_a_step():
    plain, timed = runpy.run_path(str(ROOT / "scripts" / "loop-overhead"))["overhead"]()
    assert 0 < plain < timed + 1e-7
    assert timed - plain < 1e-6
