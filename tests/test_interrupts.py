"""An interrupt waits until what must be whole is whole."""

import os
import signal

import pytest

from harness.interrupts import NUMBERS, postponed


@pytest.mark.parametrize("number", NUMBERS)
def test_an_interrupt_waits_for_the_end(number):
    done = []
    before = [signal.getsignal(each) for each in NUMBERS]
    with pytest.raises(KeyboardInterrupt), postponed():
        os.kill(os.getpid(), number)
        done.append("after the signal")
    assert done == ["after the signal"]
    assert [signal.getsignal(each) for each in NUMBERS] == before


def test_without_an_interrupt_nothing_is_raised():
    with postponed():
        pass


def test_an_error_inside_goes_through_and_handlers_are_restored():
    before = [signal.getsignal(each) for each in NUMBERS]
    with pytest.raises(OSError, match="no such"), postponed():
        raise OSError("no such thing")
    assert [signal.getsignal(each) for each in NUMBERS] == before
