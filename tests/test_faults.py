"""What went wrong in other people's benchmarks, done on purpose: each ends in a status or a flag, or does no harm."""

import os
import re

import pytest

from harness import rival

STEADY = {"warmup_seconds": 0.2, "blocks": 6, "most_blocks": 6, "block_seconds": 0.2, "unstable_above": 1000}


def measured(project, variant, **changes):
    measure = {**STEADY, **changes}
    project.configure(measure=measure).run("run", "--variant", f"numpy={variant}")
    (cell,) = project.result().cells
    return cell


def test_work_that_is_queued_and_waited_for_is_measured_right(project):
    """Steps return at once and a thread does them, each in 10 ms; warm-up work is still queued when a block begins."""
    cell = measured(project, "queues")
    assert cell.status == "ok", cell.reason
    assert cell.rate.mean == pytest.approx(2 / 0.01, rel=0.1)


def test_a_sync_that_does_not_wait_is_found_out(project):
    cell = measured(project, "never-waits")
    assert cell.status == "sync-failed" and cell.rate is None
    assert cell.reason.startswith("time left after sync: ") and "% of it, limit 20% (" in cell.reason


def test_a_step_below_the_clock_is_flagged_and_ends(project):
    cell = measured(project, "instant", block_seconds=0.01)
    assert any(flag.startswith("too short: a step takes ") for flag in cell.flags), (cell.reason, cell.flags)


@pytest.mark.parametrize(
    ("variant", "said", "changes"),
    [
        ("drifts", "trend: the rate changed by -", {"blocks": 8, "most_blocks": 8}),
        ("bimodal", "processes differ: the fastest of 2 is ", {"processes": 2, "blocks": 3, "most_blocks": 3}),
        ("recompiles", "settings changed while timed: compilations from 1 to 2", {"blocks": 10, "most_blocks": 10}),
        ("recompiles", "outlier: block ", {"blocks": 10, "most_blocks": 10}),
        ("subnormals", "subnormals: ", {}),
    ],
)
def test_a_blemish_is_flagged_and_printed(project, variant, said, changes):
    cell = measured(project, variant, **changes)
    assert any(flag.startswith(said) for flag in cell.flags), (cell.status, cell.reason, cell.flags, cell.blocks)
    assert said in (project.result().folder / "tables.md").read_text()


def test_the_spread_between_processes_is_told_apart(project):
    measured(project, "bimodal", processes=2, blocks=3, most_blocks=3)
    assert re.search(r"median rates of its processes \d+\.?\d*, \d+\.?\d*: a spread of 1\d\.\d%", project.run("show", "--details").out)


def test_another_precision_halfway_is_no_number(project):
    cell = measured(project, "other-precision")
    assert (cell.status, cell.rate) == ("parity-failed", None)
    assert cell.reason == "adapter 'numpy' was asked for precision fp32 and reports fp16"


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is only one core to take")
def test_taking_cores_that_were_not_granted_is_flagged(project):
    cell = measured(project, "takes-all-cores", blocks=3, most_blocks=3)
    assert f"cores: it gave itself {os.cpu_count()} CPUs, 1 were granted" in cell.flags, (cell.reason, cell.flags)


def test_two_alike_are_not_told_apart(project):
    outcome = project.configure(measure=STEADY).run("compare", "numpy=sleeper", "--model", "mobilenet", "--mode", "infer")
    assert outcome.code == 0 and "of 'Head to head: numpy=sleeper'" in outcome.err
    row = next(line for line in outcome.out.splitlines() if "NumPy again" in line and re.search(r"\[\d\.", line))
    assert "same" in row or "undecided" in row
    assert "WARNING" not in outcome.out


def test_a_known_time_is_told_within_one_per_cent(project):
    cell = measured(project, "sleeper", block_seconds=0.5, warmup_seconds=0.1)
    assert cell.rate.mean == pytest.approx(2 / 0.05, rel=0.01)


def test_a_child_that_left_the_group_is_ended_with_its_worker(project):
    cell = measured(project, "leaves-child", blocks=3, most_blocks=3)
    assert cell.status == "ok", cell.reason
    assert project.workers() == []


FAULTY = {"out-of-memory": "oom", "hangs": "timeout", "crashes": "crashed", "raises": "crashed", "exits": "crashed", "nan": "parity-failed"}


def test_a_plan_of_24_cells_survives_one_of_each_kind(project, monkeypatch):
    """An environment that cannot be made, and faults of every kind between healthy cells: each has its row, and nobody else is hurt."""
    monkeypatch.setitem(rival.LIMITS, "parity", 5.0)
    project.add_adapter("ancient", lock="numpy==1.16.0\nnumpy==2.0.0\n")  # pins that cannot be had together
    healthy = ["honest", "sleeper", "chatty", "leaves-child"]
    measure = {**STEADY, "blocks": 3, "most_blocks": 3}
    project.configure(adapters=["numpy", "ancient"], models=["mobilenet", "resnet18"], measure=measure)
    variants = {"numpy": [*healthy, *FAULTY], "ancient": ["honest", "sleeper"]}
    outcome = project.configure(variants=variants).run("run")
    assert outcome.code == 1
    cells = project.result().cells
    assert len(cells) == 24
    statuses = {(c.cell.adapter, c.cell.variant, c.cell.model): str(c.status) for c in cells}
    for model in ("mobilenet", "resnet18"):
        assert {name: statuses["numpy", name, model] for name in FAULTY} == FAULTY
        assert {statuses["numpy", name, model] for name in healthy} == {"ok"}
        assert statuses["ancient", "honest", model] == "env-failed"
    assert all(c.reason for c in cells if str(c.status) != "ok")
    beside = {c.cell.model: c.rate.mean for c in cells if c.cell.variant == "sleeper" and c.rate is not None}
    project.configure(adapters=["numpy"], variants={"numpy": ["sleeper"]}).run("run")
    for cell in project.result().cells:
        assert beside[cell.cell.model] == pytest.approx(cell.rate.mean, rel=0.02)
    assert project.workers() == []
