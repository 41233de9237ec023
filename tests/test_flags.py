"""Each blemish raises its own flag, with a number, and a clean cell none."""

from typing import NamedTuple

import pytest

from harness import flags
from harness.events import Built, Finished, WarmedUp
from harness.flags import Facts, Session


class Timed(NamedTuple):
    process: int
    round: int
    rate: float
    others: float | None = 0.0
    throttled: tuple[str, ...] = ()
    gpu_processes: int = 1


CLEAN = [100.0, 101.0, 99.5, 100.5, 99.0, 100.2, 101.1, 99.8]
LEDGER = {"compilations": 1, "layout": "NCHW"}


def session(ledger=LEDGER, **finished):
    return [Session(Built("cell", loss=2.0), Finished("cell", **{"finite": True, "loss": 1.5, **finished}), LEDGER, ledger)]


def facts(rates=CLEAN, **changes):
    blocks = [Timed(0, number, rate) for number, rate in enumerate(rates)]
    return Facts(**{"blocks": blocks, "cpu_per_wall": 1.9, "threads": 2, "sessions": session(), "step_seconds": 0.1, **changes})


def test_a_clean_cell_has_none():
    assert flags.raised(facts()) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (facts([100 * 0.99**k for k in range(10)]), "trend: the rate changed by -6.8% from the first to the last blocks (tau -1.00)"),
        (facts([*CLEAN, 20.0]), "outlier: block 9 of 9 took up to 5.0 times the median"),
        (
            facts(blocks=[Timed(p, r, 100.0 * (1 + 0.2 * p)) for p in (0, 1) for r in range(4)]),
            "processes differ: the fastest of 2 is 20.0%",
        ),
        (facts(blocks=[Timed(0, 0, 100.0, 0.0), Timed(0, 1, 100.0, 1.3)]), "noise: others used up to 1.3 cores during 1 of 2 blocks"),
        (
            facts(warm_ups=[WarmedUp("cell", steady=True), WarmedUp("cell", steady=False, spread=0.31, steps=40, seconds=20.04)]),
            "not steady after 40 steps before timing, proofs included (20.0 s): the last windows vary by 31.0%",
        ),
        (
            facts(warm_ups=[WarmedUp("cell", steady=False, spread=None, steps=2, seconds=30.0)]),
            "not steady after 2 steps before timing, proofs included (30.0 s): too few",
        ),
        (
            facts(blocks=[Timed(0, 0, 100.0), Timed(0, 1, 99.0, 0.0, ("power cap",))]),
            "throttled: the GPU lowered its clock in 1 of 2 blocks (power cap)",
        ),
        (facts(blocks=[Timed(0, 0, 100.0, 0.0, (), 3)], rivals=2), "noise: 3 processes were on the GPU, 2 of them this run's"),
        (facts(cpu_per_wall=3.9), "cores: 3.9 were in use, 2 were granted"),
        (facts(sessions=session(cpus=4)), "cores: it gave itself 4 CPUs, 2 were granted"),
        (facts(step_seconds=2e-6), "too short: a step takes 2.00 microseconds"),
        (facts(sessions=session(ledger={"compilations": 2})), "settings changed while timed: compilations from 1 to 2"),
        (facts(sessions=session(loss=2.0)), "training does nothing: the loss was 2 in the first step and is in the last"),
        (facts(sessions=session(subnormals=0.25)), "subnormals: 25.0% of the numbers"),
    ],
)
def test_a_blemish_is_told_with_its_number(changed, said):
    found = flags.raised(changed)
    assert len(found) == 1 and found[0].startswith(said), found


def test_old_events_without_the_new_fields_raise_nothing():
    blocks = [Timed(0, number, rate, None) for number, rate in enumerate(CLEAN)]
    assert flags.raised(facts(blocks=blocks, sessions=session(ledger={}, loss=None))) == ()


def test_a_slow_block_is_named_with_its_process():
    blocks = [Timed(p, r, 10.0 if (p, r) == (1, 2) else 100.0) for p in (0, 1) for r in range(4)]
    assert flags.raised(facts(blocks=blocks)) == ("outlier: block 3 of 4 of process 2 took up to 10.0 times the median",)
