"""A run's files: what is read back from them, and what is refused."""

import json

import pytest
from helpers import Recorder

from harness import paths, results
from harness.errors import UserError
from harness.statuses import Status


@pytest.fixture
def run():
    """A run of two cells, one measured and one N/A."""
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), [0.5, 0.6, 0.4])
    recorder.ended(recorder.plan("beta"), "unsupported", "no such build")
    return recorder


def test_what_was_written_is_read(run):
    loaded = run.load()
    alpha, beta = loaded.cells
    assert (alpha.status, alpha.rate.mean, alpha.rate.blocks, alpha.rate.steps) == (Status.OK, 40.0, 3, 30)
    assert alpha.cpu_per_wall == pytest.approx(2.0) and alpha.memory.resident == 2**20 and alpha.first_step_seconds == 0.5
    assert (beta.status, beta.reason, beta.rate) == (Status.UNSUPPORTED, "no such build", None)
    assert (loaded.suite_name, loaded.threads, loaded.torn) == ("tiny", 4, False)


def test_a_size_that_the_model_cannot_have_is_a_changed_file():
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha", model="ncf", size=32), [0.5, 0.6, 0.4])
    with pytest.raises(UserError, match=r"its files were changed after they were written: LookupError.*ncf has one size alone"):
        recorder.load()


def test_only_timed_blocks_count(run):
    """The settle step before each block took as long as the block; it is not in the rate."""
    assert run.load().cells[0].rate.steps == 30


def test_loading_again_gives_the_same_digits(run):
    before = run.load()
    assert results.load(run.journal.folder) == before
    assert repr(results.load(run.journal.folder)) == repr(before)


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_line_is_set_aside(run, cut):
    """Cut anywhere: what is whole counts, and the cell whose end was lost is interrupted."""
    whole = run.load()
    assert not whole.torn
    run.path.write_bytes(run.path.read_bytes()[:-1][:-cut])
    loaded = results.load(run.journal.folder)
    assert loaded.torn
    assert loaded.cells[0] == whole.cells[0]
    assert (loaded.cells[1].status, loaded.cells[1].reason) == (Status.INTERRUPTED, "the run ended before this cell did")


def test_every_prefix_can_be_read(run):
    """A kill may come after any byte."""
    run.journal.close()
    content = run.path.read_bytes()
    for length in range(0, len(content), 7):
        run.path.write_bytes(content[:length])
        loaded = results.load(run.journal.folder)
        assert {cell.status for cell in loaded.cells} <= {Status.OK, Status.UNSUPPORTED, Status.INTERRUPTED}


def test_a_kill_before_the_first_event(run):
    """run.json is there, events.jsonl not yet."""
    run.journal.close()
    run.path.unlink()
    assert results.load(run.journal.folder).cells == ()


@pytest.mark.parametrize(
    "damage", [b"{garbage", b"\xff\xfe", b"[1, 2]", b"12", b'{"time": 1}', b'{"event": "block", "cell": "never/planned"}']
)
def test_a_changed_line_is_refused(run, damage):
    run.journal.close()
    lines = run.path.read_bytes().split(b"\n")
    lines[2] = damage
    run.path.write_bytes(b"\n".join(lines))
    with pytest.raises(UserError, match=r"events.jsonl:3: .*"):
        results.load(run.journal.folder)


def test_another_version_is_refused_with_the_way_out(run):
    document = json.loads((run.journal.folder / "run.json").read_text())
    (run.journal.folder / "run.json").write_text(json.dumps({**document, "version": 99}))
    with pytest.raises(UserError, match=r"is of version 99; this harness reads 1. Use the harness that made it."):
        run.load()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"version": 1}', '{"version": 1, "suite": {}}'])
def test_a_broken_run_json_is_refused(run, content):
    (run.journal.folder / "run.json").write_text(content)
    with pytest.raises(UserError, match=r"run.json: "):
        run.load()


def test_a_cell_that_never_began_is_interrupted():
    recorder = Recorder()
    recorder.plan("alpha")
    assert recorder.load().cells[0].status is Status.INTERRUPTED


def test_a_failed_cell_keeps_its_reason_and_loses_its_number():
    """Blocks were timed before it crashed: they are no result."""
    recorder = Recorder()
    cell = recorder.plan("alpha")
    recorder.journal.write("block", cell=cell.key, label="timed", steps=9, start=0.0, seconds=1.0, cpu_seconds=1.0)
    recorder.ended(cell, "crashed", "killed by signal 9 (SIGKILL)")
    (result,) = recorder.load().cells
    assert (result.status, result.reason, result.rate) == (Status.CRASHED, "killed by signal 9 (SIGKILL)", None)


@pytest.mark.parametrize(
    ("facts", "status"),
    [({"error": 0.5}, "parity-failed"), ({"error": None}, "parity-failed"), ({"finite": False}, "parity-failed"), ({}, "ok")],
)
def test_the_judgement_is_made_from_the_events(facts, status):
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), [0.5, 0.5, 0.5], **facts)
    assert recorder.load().cells[0].status == status


def test_the_limit_is_that_of_the_run():
    recorder = Recorder(measure={"unstable_above": 0.01})
    recorder.measured(recorder.plan("alpha"), [0.5, 0.6, 0.4])
    assert recorder.load().cells[0].status is Status.UNSTABLE


def test_find():
    assert results.find(str(Recorder().journal.folder)) == results.find("last")
    first, second = Recorder().journal.folder, Recorder().journal.folder
    assert first != second
    assert results.find("last") == second
    assert results.find(first.name) == first


def test_the_last_of_a_dozen_in_one_second(monkeypatch):
    """Names carry the second; within it the order of making counts."""
    monkeypatch.setattr("time.strftime", lambda form: "20260101-000000")
    for _ in range(12):
        last = Recorder().journal.folder
    assert results.find("last") == last


def test_find_nothing():
    with pytest.raises(UserError, match=r"There are no runs in .* yet. Make one: harness run"):
        results.find("last")
    with pytest.raises(UserError, match=r"'nope' is no run: there is no nope/run.json and no .*runs/nope/run.json"):
        results.find("nope")


def test_a_runs_folder_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HARNESS_RUNS", str(tmp_path / "file" / "runs"))
    with pytest.raises(UserError, match=r"cannot be made: Not a directory. Set HARNESS_RUNS"):
        Recorder()
    assert paths.runs() == tmp_path / "file" / "runs"
