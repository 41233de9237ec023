"""`harness run` from end to end, with NumPy as the framework: good citizens, bad ones, and interruptions."""

import os
import random
import re
import signal
import time
from types import SimpleNamespace

import psutil
import pytest
from helpers import wait_until

from harness import results, rival
from harness.errors import UserError

# Variant: the status that the cell must end with, and what the reason must say.
FAULTS = {
    "skips-relu": ("parity-failed", "fp64 outputs: relative error"),
    "edits-graph": ("parity-failed", "fp64 outputs: relative error"),
    "halves-batch": ("parity-failed", "adapter 'numpy' was asked for batch 4 and reports 2"),
    "lies-about-batch": ("parity-failed", "outputs"),
    "nan": ("parity-failed", "outputs or loss were no longer finite after the timed steps"),
    "unsupported": ("unsupported", "lstm: this framework's LSTM needs a GPU build"),
    "out-of-memory": ("oom", "MemoryError: cannot allocate 9 TiB"),
    "raises": ("crashed", "RuntimeError: the gizmo is jammed"),
    "crashes": ("crashed", "killed by signal 9 (SIGKILL)"),
    "exits": ("crashed", "ended with exit code 123"),
}


def test_an_honest_cell_is_ok(project):
    outcome = project.configure(modes=["train", "infer"]).run("run")
    assert outcome.code == 0, outcome.err
    train, infer = project.result().cells
    assert (train.status, infer.status) == ("ok", "ok")
    assert train.rate.mean > 0 and train.rate.blocks == 3
    assert all(check.passed for check in train.checks) and {"fp64 update", "full-size loss"} <= {check.what for check in train.checks}
    assert train.ledger["framework"] == "NumPy" and train.ledger["batch"] == 2
    assert "Training, fp32, cpu: images per second" in outcome.out and "Inference, fp32, cpu" in outcome.out
    assert (project.result().folder / "tables.md").read_text().count("| NumPy |") == 2
    assert project.workers() == []


def test_the_rate_is_the_true_one(project):
    """A step of the sleeper takes 50 ms, so at batch 2 it does 40 samples a second."""
    project.configure(measure={"warmup_seconds": 0.1, "blocks": 4, "block_seconds": 0.25, "unstable_above": 1000}).run(
        "run", "--variant", "numpy=sleeper"
    )
    (cell,) = project.result().cells
    assert cell.status == "ok", cell.reason
    assert cell.rate.mean == pytest.approx(40, rel=0.05)
    assert cell.cpu_per_wall < 0.5  # it slept


@pytest.mark.parametrize("variant", FAULTS)
def test_a_fault_ends_its_own_cell_only(project, variant):
    status, reason = FAULTS[variant]
    outcome = project.configure(variants={"numpy": [variant, "honest"]}).run("run")
    endings = project.endings()
    assert endings["numpy/honest"] == ("ok", "")
    assert endings[f"numpy/{variant}"][0] == status and reason in endings[f"numpy/{variant}"][1], endings
    assert outcome.code == (0 if status == "unsupported" else 1)
    assert re.search(rf"{'N/A' if status == 'unsupported' else status} \[\d\]", outcome.out)
    assert project.workers() == []


def test_a_dead_worker_leaves_its_last_words(project):
    project.configure(variants={"numpy": ["raises"]}).run("run")
    (log,) = (project.result().folder / "logs").iterdir()
    assert "RuntimeError: the gizmo is jammed" in log.read_text()


def test_a_fast_wrong_answer_is_not_ranked(project):
    project.configure(variants={"numpy": ["skips-relu", "honest", "sleeper"]}).run("run")
    text = (project.result().folder / "tables.md").read_text()
    wrong, honest = [line for line in text.splitlines() if line.startswith("| NumPy (")][:2]
    assert re.search(r"parity-failed \[\d\]", wrong) and "**" not in wrong and "±" not in wrong
    assert "**" in honest


def test_a_hang_ends_at_its_limit(project, monkeypatch):
    monkeypatch.setitem(rival.LIMITS, "parity", 5.0)
    project.configure(variants={"numpy": ["hangs", "honest"]}).run("run")
    endings = project.endings()
    assert endings["numpy/hangs"] == ("timeout", "parity took longer than 5 s")
    assert endings["numpy/honest"] == ("ok", "")
    times = [event["time"] for kind in ("cell-started", "cell-ended") for event in project.events(kind) if event["cell"].endswith("hangs")]
    assert 5 <= times[1] - times[0] < 10
    assert project.workers() == []


def test_sentences_are_counted_in_tokens(project):
    assert project.configure(models=["gnmt-small"], batch=3, size=10).run("run").code == 0
    (built,), (result,) = project.events("built"), project.result().cells
    assert 3 * 2 * 9 <= built["work"] < 3 * 2 * 10  # lengths are 9 or 10
    seconds = sum(block["seconds"] for block in project.events("block") if block["label"] == "timed")
    assert result.rate.mean == pytest.approx(built["work"] * result.rate.steps / seconds)


def test_chatter_goes_to_the_log(project):
    process = project.configure(variants={"numpy": ["chatty", "honest"]}).start("run")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "chatter\n" not in out + err
    assert project.endings() == {"numpy/chatty": ("ok", ""), "numpy/honest": ("ok", "")}
    logs = {
        path.name.rpartition("_")[2]: path.read_bytes().count(b"\xff\xfechatter\n") for path in (project.result().folder / "logs").iterdir()
    }
    assert logs == {"chatty.log": 1_000_000, "honest.log": 0}


def test_idle_rivals_are_stopped(project, monkeypatch):
    """While one worker is asked for a block, every other one is in state T."""
    states = []

    def stopped(process):
        return process.status() == psutil.STATUS_STOPPED

    def watched(rival, request, expected, label, block=rival.Rival.block, **extra):
        others = [worker for worker in project.workers() if worker.pid != rival.worker._process.pid]
        wait_until(lambda: all(stopped(worker) for worker in others), 1)  # a stop takes effect when the process is next scheduled
        states.append([(stopped(worker), stopped(psutil.Process(rival.worker._process.pid))) for worker in others])
        return block(rival, request, expected, label, **extra)

    monkeypatch.setattr(rival.Rival, "block", watched)
    project.configure(variants={"numpy": ["sleeper", "honest"]}).run("run")
    together = [state for state in states if state]
    assert len(together) > 12  # settle and timed, three blocks of two rivals, and the second one's warm-up
    assert all(state == [(True, False)] for state in together), together


def test_blocks_alternate_in_an_order_that_is_drawn(project):
    measure = {"warmup_seconds": 0, "warmup_steps": 1, "blocks": 12, "most_blocks": 12, "block_seconds": 0.001, "unstable_above": 1000}
    project.configure(variants={"numpy": ["honest", "sleeper"]}, measure=measure)
    orders = []
    for _ in range(2):
        project.run("run")
        timed = [event for event in project.events("block") if event["label"] == "timed"]
        assert [event["round"] for event in timed] == [number for number in range(12) for _ in range(2)]
        orders.append([event["cell"].rpartition("/")[2] for event in timed])
    rounds = [tuple(orders[0][place : place + 2]) for place in range(0, 24, 2)]
    assert set(rounds) == {("honest", "sleeper"), ("sleeper", "honest")}  # both orders, and nobody twice
    assert orders[0] == orders[1]  # the suite's seed


def test_no_order_is_the_same_for_every_cell_and_process(project):
    """A framework that always started last, or second in most rounds, would have whatever comes of that in every cell."""
    measure = {"warmup_seconds": 0, "warmup_steps": 1, "blocks": 6, "most_blocks": 6, "block_seconds": 0.001, "unstable_above": 1000}
    project.configure(variants={"numpy": ["honest", "sleeper"]}, measure={**measure, "processes": 3}, modes=["train", "infer"]).run("run")

    def orders(events):
        found = {}
        for event in events:
            _, mode, *_, variant = event["cell"].split("/")
            found.setdefault((mode, event["process"]), []).append(variant)
        return [tuple(order) for order in found.values()]

    assert set(orders(project.events("cell-started"))) == {("honest", "sleeper"), ("sleeper", "honest")}
    rounds = orders(event for event in project.events("block") if event["label"] == "timed")
    assert len(rounds) == 6 and len(set(rounds)) >= 5


def test_every_planned_cell_is_in_the_tables(project):
    """Gaps (dropout), devices that are not there, and what ran: nothing is left out, nothing is blank."""
    outcome = project.configure(models=["mobilenet", "alexnet"], modes=["train"], size=64, devices=["cpu", "cuda"]).run("run")
    assert outcome.code == 0
    assert [str(r.status) for r in project.result().cells] == ["ok", "unsupported", "unsupported", "unsupported"]
    text = (project.result().folder / "tables.md").read_text()
    assert "the reference draws no random numbers" in text and "NumPy has no cuda build in this adapter" in text
    assert text.count("N/A") == 3


def test_more_threads_than_cpus(project):
    outcome = project.configure(threads=10_000).run("run")
    assert outcome.code == 2 and "threads is 10000, but only" in outcome.err


def running(project, blocks=1):
    """Start a run that would take long, and wait until it has measured a first group and is in the second."""
    project.configure(models=["mobilenet", "resnet18"], variants={"numpy": ["honest", "sleeper"]})
    process = project.configure(measure={"warmup_seconds": 0, "warmup_steps": 1, "blocks": 3, "block_seconds": 0.001}).start("run")

    def far_enough():
        try:
            return sum(event["cell"].startswith("resnet18") for event in project.events("block")) >= blocks
        except (UserError, OSError, ValueError):
            return False

    assert wait_until(far_enough, 60), process.communicate(timeout=1)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_done(project, number):
    process = running(project)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    statuses = {(r.cell.model, r.cell.variant): str(r.status) for r in project.result().cells}
    assert len(statuses) == 4
    assert {status for (model, _), status in statuses.items() if model == "mobilenet"} <= {"ok", "unstable"}
    assert {status for (model, _), status in statuses.items() if model == "resnet18"} == {"interrupted"}
    assert "interrupted [" in out and "Traceback" not in err
    go_on = f"Go on: harness resume {project.result().folder}"
    assert go_on in err and go_on in project.run("show").err
    assert project.events("run-interrupted")
    assert project.workers() == []


def test_an_interrupt_while_environments_are_made(project):
    """Even then every planned cell is accounted for."""
    slow = project.folder / "slow-python"
    slow.write_text("#!/bin/sh\ntouch asked\nexec sleep 30\n")
    slow.chmod(0o755)
    project.document["environments"]["numpy"]["python"] = str(slow)
    project.save()
    process = project.start("run")
    assert wait_until((project.folder / "asked").exists, 30)
    for child in psutil.Process(process.pid).children(recursive=True):
        child.send_signal(signal.SIGINT)  # as a terminal would
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 130, err
    assert [str(r.status) for r in project.result().cells] == ["interrupted"]


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_run_can_be_shown_and_leaves_nobody(project, seed):
    """SIGKILL at a random moment: the host can clean nothing up, so its workers must go by themselves."""
    project.configure(variants={"numpy": ["honest", "sleeper"]}, measure={"warmup_seconds": 0.3, "blocks": 10, "block_seconds": 0.5})
    process = project.start("run")
    assert wait_until(lambda: list(project.folder.glob("runs/*/events.jsonl")), 30)
    time.sleep(random.Random(seed).uniform(0, 4))  # the moment is the point here
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    outcome = project.run("show", "--details")
    assert outcome.code == 0, outcome.err
    for result in project.result().cells:
        assert result.status in ("ok", "unstable", "interrupted")
    assert wait_until(lambda: not project.workers(), 5), [(w.status(), w.cmdline()) for w in project.workers()]


def test_a_worker_past_its_memory_ends_as_oom(project):
    project.document["memory"] = "700m"
    outcome = project.configure(variants={"numpy": ["hog", "honest"]}).run("run")
    assert outcome.code == 1
    endings = project.endings()
    assert endings["numpy/honest"] == ("ok", "")
    assert endings["numpy/hog"][0] == "oom" and "MemoryError" in endings["numpy/hog"][1]


@pytest.mark.parametrize(("told", "status"), [(0, "crashed"), (1, "oom")])
def test_a_kill_for_want_of_memory_is_told_from_another(project, monkeypatch, told, status):
    """The kernel counts its kills; the count is faked, since a machine that really runs out of memory runs no tests."""
    counts = iter([0, told])
    monkeypatch.setattr("harness.hostinfo.oom_kills", lambda: next(counts))
    project.configure(variants={"numpy": ["crashes"]}).run("run")
    assert project.endings()["numpy/crashes"][0] == status


def test_an_interrupted_run_is_shown_like_at_its_end(project):
    process = running(project)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    again = project.run("show")
    assert again.out.strip() == out[: out.index("4 cells:")].strip()
    assert results.find("last") == project.result().folder


def test_the_host_leaves_the_cores_to_the_worker(project):
    """Less than 2 % of a core while a worker measures: it waits for one line."""
    measure = {"warmup_seconds": 0.1, "blocks": 3, "most_blocks": 3, "block_seconds": 2.0, "unstable_above": 1000}
    process = project.configure(measure=measure).start("run", "--variant", "numpy=sleeper")
    host = psutil.Process(process.pid)

    def timing():
        folder = results.find("last")
        return '"warmed-up"' in (folder / "events.jsonl").read_text()

    assert wait_until(lambda: _tries(timing), 60)
    before, start = host.cpu_times(), time.monotonic()
    time.sleep(5)
    after, seconds = host.cpu_times(), time.monotonic() - start
    assert (after.user + after.system - before.user - before.system) / seconds < 0.02
    process.communicate(timeout=60)


def _tries(condition):
    try:
        return condition()
    except (UserError, OSError):
        return False


def test_a_cell_without_room_beside_its_rivals_is_measured_alone(project):
    """It runs out of memory wherever another worker is alive."""
    outcome = project.configure(variants={"numpy": ["honest", "cramped"]}, modes=["infer"]).run("run")
    assert outcome.code == 0, outcome.err
    honest, cramped = project.result().cells
    assert (honest.status, cramped.status) == ("ok", "ok")
    reason = "MemoryError: cannot allocate 9 TiB"
    assert cramped.flags[0] == f"measured alone, since memory did not hold all rivals at once ({reason}): it has no ratios"
    assert "it will be measured alone" in outcome.err
    assert "too few pairs" in outcome.out


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_no_worker_is_started_that_memory_may_not_hold(project, monkeypatch, seed):
    """The first worker took 6 of 10 GiB: there is no room for a second one beside it. The baseline has it, whoever was first."""
    left = iter([10, 10, 4] + [10] * 50)
    monkeypatch.setattr("harness.runner.psutil.virtual_memory", lambda: SimpleNamespace(available=next(left) * 2**30, total=2**34))
    outcome = project.configure(variants={"numpy": ["honest", "sleeper"]}, seed=seed).run("run")
    assert outcome.code == 0, outcome.err
    honest, sleeper = project.result().cells
    assert (honest.status, sleeper.status) == ("ok", "ok")
    assert sleeper.flags[0].startswith("measured alone") and not any(flag.startswith("measured alone") for flag in honest.flags)
    assert "there is no memory for it beside its rivals" in outcome.err


LATENCY = {"warmup_requests": 1, "requests": 4, "repeats": 2, "sweeps": 2, "warmup_seconds": 0, "warmup_steps": 1, "unstable_above": 1000}


def test_latencies_by_batch_with_one_proof(project):
    project.configure(protocol="latency", batch=[1, 2], measure=LATENCY).run("run", "--adapter", "numpy")
    one, two = project.result().cells
    assert [str(cell.status) for cell in (one, two)] == ["ok", "ok"]
    assert [len(block.latencies) for block in one.blocks] == [4] * 4
    assert [(block.sweep, block.repeat) for block in one.blocks] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    started = [event["cell"] for event in project.events("cell-started")]
    assert started == [one.cell.key, one.cell.key, two.cell.key]  # the first proves for both, in a worker of its own
    assert len(project.events("parity")) == 2 and one.checks[:2] == two.checks[:2]  # and both tell on what they rest
    assert one.rss_since_build and one.memory.resident > 2**20
    shown = project.run("show").out
    assert "Latency, MobileNet" in shown and "n too small" in shown
    exported = project.run("export")
    assert exported.code == 0 and len(exported.out.splitlines()) == 1 + 8


def test_a_failed_proof_fails_every_batch(project):
    project.configure(protocol="latency", batch=[1, 2], variants={"numpy": ["skips-relu"]}, measure=LATENCY)
    assert project.run("run").code == 1
    assert [str(cell.status) for cell in project.result().cells] == ["parity-failed"] * 2


def test_minutes_of_image_generation(project):
    measure = {"interval_seconds": 0.3, "intervals": 2, "warmup_seconds": 0, "warmup_steps": 1, "unstable_above": 1000}
    suite = {"protocol": "iterations", "models": ["style-vgg", "style-nin"], "modes": ["train"], "batch": 1, "size": [16, 64]}
    outcome = project.configure(**suite, measure=measure).run("run")
    assert outcome.code == 0, outcome.err
    small, _, *nin = project.result().cells
    assert [str(cell.status) for cell in nin] == ["unsupported"] * 2
    assert "no network at 64 pixels: style-nin: node 'pool3'" in nin[1].reason
    assert len(small.blocks) == 2 and small.losses[1] < small.losses[0]
    assert "0.3 s" in outcome.out and "style-nin" in outcome.out


def test_the_user_s_images_are_generated_from(project, tmp_path):
    from PIL import Image

    Image.new("RGB", (8, 8), (9, 9, 9)).save(tmp_path / "content.png")
    Image.new("RGB", (8, 8), (200, 0, 0)).save(tmp_path / "style.png")
    measure = {"interval_seconds": 0.1, "intervals": 2, "warmup_seconds": 0, "warmup_steps": 1, "unstable_above": 1000}
    project.configure(protocol="iterations", models=["style-vgg"], modes=["train"], batch=1, size=16, measure=measure)
    losses = []
    for options in ([], ["--images", str(tmp_path)]):
        assert project.run("run", *options).code == 0
        losses.append(project.result().cells[0].losses[0])
    assert losses[0] != losses[1]
    outcome = project.run("run", "--images", str(tmp_path / "nowhere"))
    assert outcome.code == 2 and "image generation wants one file content.*" in outcome.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--mode", "infer"), "an image is generated by training it"),
        (("--batch", "2"), "one image is generated at a time, so the batch is 1"),
    ],
)
def test_what_image_generation_is_not(project, options, reason):
    project.configure(models=["style-vgg"], modes=["train"], batch=1, size=16).run("run", *options)
    (cell,) = project.result().cells
    assert (str(cell.status), cell.reason) == ("unsupported", reason)


def test_numbers_of_threads_that_the_host_lacks_are_not_available(project):
    assert project.configure(threads=[1, 10_000]).run("run").code == 0
    able, lacking = project.result().cells
    assert (str(able.status), able.cell.threads, able.ledger["threads"]) == ("ok", 1, 1)
    assert str(lacking.status) == "unsupported" and lacking.reason.endswith("CPUs may be used here, not 10000")


def test_anything_of_a_suite_may_be_set(project):
    outcome = project.run("run", "--set", "measure.blocks=2", "--set", "measure.most_blocks=2", "--set", "seed=7")
    assert outcome.code == 0 and project.result().suite.seed == 7
    assert len(project.result().cells[0].blocks) == 2
    form, field = "write KEY=VALUE", "'sead' is no field here. Did you mean 'seed'?"
    for wrong, said in (("measure.blocks", form), ("seed=x y", form), ("sead=1", field)):
        outcome = project.run("run", "--set", wrong)
        assert outcome.code == 2 and said in outcome.err, outcome.err
