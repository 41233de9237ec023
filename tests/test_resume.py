"""Going on with a run after whatever ended it, and one user of a device at a time."""

import json
import os
import random
import signal
import time

import pytest
from helpers import Project, wait_until

from harness import results

SHORT = {"warmup_seconds": 0, "warmup_steps": 1, "blocks": 3, "most_blocks": 3, "block_seconds": 0.001, "unstable_above": 1000}
CELLS = {"models": ["mobilenet", "resnet18"], "variants": {"numpy": ["honest", "sleeper"]}, "measure": SHORT}


def ended(project):
    return [event["cell"] for event in project.events("cell-ended")]


def killed_after(project, cells):
    """Start a run, and kill it with SIGKILL when that many cells have ended."""
    process = project.start("run")

    def far_enough():
        try:
            return len(ended(project)) >= cells
        except (OSError, ValueError, results.UserError):
            return False

    assert wait_until(far_enough, 60), process.communicate(timeout=1)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)


def test_what_is_missing_is_measured_and_what_is_there_stays(project):
    killed_after(project.configure(**CELLS), 2)
    before = {result.cell.key: result.blocks for result in project.result().cells if str(result.status) == "ok"}
    assert len(before) == 2
    with (results.find("last") / "events.jsonl").open("a") as journal:
        journal.write('{"event": "blo')  # as a kill in the middle of a line leaves it
    outcome = project.run("resume")
    assert outcome.code == 0, outcome.err
    after = project.result()
    assert [str(result.status) for result in after.cells] == ["ok"] * 4 and not after.torn
    assert {result.cell.key: result.blocks for result in after.cells if result.cell.key in before} == before
    assert len(ended(project)) == 4 and after.sessions == 2
    assert (after.folder / "events.torn").read_text() == '{"event": "blo\n'
    assert project.workers() == []


def test_a_run_killed_before_its_first_event(project):
    project.run("run")
    (results.find("last") / "events.jsonl").unlink()
    assert project.run("resume").code == 0
    assert [str(result.status) for result in project.result().cells] == ["ok"]


def test_a_complete_run_lacks_nothing(project):
    assert project.run("run").code == 0
    events = (results.find("last") / "events.jsonl").read_bytes()
    outcome = project.run("resume")
    assert outcome.code == 0 and "Nothing is missing in" in outcome.err and "MobileNet" in outcome.out
    assert (results.find("last") / "events.jsonl").read_bytes() == events


def test_failed_cells_are_measured_again_when_asked_for(project):
    """The raising variant fails for good; the resumed run says so again, and its pairs are none with those of before."""
    project.configure(variants={"numpy": ["raises", "honest", "sleeper"]}, measure=SHORT).run("run")
    assert project.run("resume").code == 1  # nothing is missing, but a cell failed
    assert len(ended(project)) == 3
    assert project.run("resume", "--retry-failed").code == 1
    assert ended(project)[3:] == [key for key in ended(project)[:3] if key.endswith("raises")]
    assert project.run("resume", "--retry", "unstable").code == 1 and len(ended(project)) == 4


def test_a_cell_measured_later_has_no_pairs_with_those_of_before(project):
    killed_after(project.configure(**CELLS), 0)
    time.sleep(0.5)
    folder = results.find("last")
    project.run("resume")
    lines = (folder / "events.jsonl").read_text().splitlines()
    sleeper = next(result.cell.key for result in project.result().cells if result.cell.variant == "sleeper")
    cut = next(number for number, line in enumerate(lines) if '"cell-ended"' in line and json.loads(line)["cell"] == sleeper)
    (folder / "events.jsonl").write_text("\n".join(lines[:cut] + lines[cut + 1 :]) + "\n")  # as if it had never ended
    assert project.run("resume").code == 0
    honest, sleeping = (r for r in project.result().cells if r.cell.model == "mobilenet")
    assert {block.round for block in honest.blocks}.isdisjoint(block.round for block in sleeping.blocks)
    assert any("measured when the run was resumed" in flag for flag in sleeping.flags) and len(sleeping.blocks) == 3


@pytest.mark.parametrize("seed", range(int(os.environ.get("HARNESS_KILLS", "8"))))
def test_a_run_killed_at_any_moment_is_completed(project, seed):
    process = project.configure(**CELLS).start("run")
    assert wait_until(lambda: list(project.folder.glob("runs/*/run.json")), 30)
    time.sleep(random.Random(seed).uniform(0, 5))  # the moment is the point here
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert wait_until(lambda: not project.workers(), 5)
    before = {r.cell.key: r.blocks for r in project.result().cells if str(r.status) == "ok"}
    outcome = project.run("resume")
    assert outcome.code == 0, outcome.err
    after = {r.cell.key: (str(r.status), r.blocks) for r in project.result().cells}
    assert len(after) == 4 and {status for status, _ in after.values()} == {"ok"}
    assert all(after[key][1] == blocks for key, blocks in before.items())


def test_a_run_of_another_host_is_not_gone_on_with(project):
    killed_after(project.configure(**CELLS), 1)
    document = results.find("last") / "run.json"
    document.write_text(document.read_text().replace(json.loads(document.read_text())["host"]["hostname"], "elsewhere"))
    outcome = project.run("resume")
    assert outcome.code == 2 and "was begun where hostname is elsewhere" in outcome.err


def test_a_run_of_a_harness_that_kept_too_little(project):
    project.run("run")
    document = results.find("last") / "run.json"
    fields = json.loads(document.read_text())
    del fields["origin"]
    document.write_text(json.dumps(fields))
    outcome = project.run("resume")
    assert outcome.code == 2 and "kept too little to go on" in outcome.err


def test_the_second_user_of_a_device_is_told_who_the_first_is(project: Project):
    slow = {**SHORT, "blocks": 20, "most_blocks": 20, "block_seconds": 0.5}
    process = project.configure(measure=slow).start("run", "--variant", "numpy=sleeper")
    assert wait_until(lambda: project.workers(), 30)
    outcome = project.run("run")
    assert outcome.code == 2
    assert f"device cpu is in use by process {process.pid}, since " in outcome.err and "--wait" in outcome.err
    waiting = project.start("run", "--wait", "--variant", "numpy=honest", "--set", "measure.blocks=2", "--set", "measure.most_blocks=2")
    time.sleep(1)
    assert waiting.poll() is None
    os.kill(process.pid, signal.SIGKILL)  # the kernel lets go
    process.communicate(timeout=30)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err


def test_a_run_in_use_is_not_resumed(project):
    slow = {**SHORT, "blocks": 20, "most_blocks": 20, "block_seconds": 0.5}
    process = project.configure(measure=slow).start("run", "--variant", "numpy=sleeper")
    assert wait_until(lambda: project.workers(), 30)
    outcome = project.run("resume")
    assert outcome.code == 2 and "is in use by process" in outcome.err
    process.kill()
    process.communicate(timeout=30)
