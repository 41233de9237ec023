"""Disks that are full, folders that cannot be written or are gone: a sentence or survival, never a wrong result."""

import os
import pwd
import shutil
from pathlib import Path

import pytest
from helpers import Project, wait_until

from harness import paths, results
from harness.errors import UserError

NOWHERE = "/proc/nowhere"  # not even root can make a folder here
TWO = {"variants": {"numpy": ["honest", "sleeper"]}}


@pytest.mark.parametrize("room", [300, 1500, 2500, 4000, 6000, 9000])
def test_a_run_whose_disk_fills_up_goes_on_later(project, room):
    """The kernel refuses to write on at that byte: in run.json, in the plan, in the middle of an event."""
    project.configure(**TWO).run("run")  # so that the cache is whole
    whole = results.find("last")
    largest = (whole / "events.jsonl").stat().st_size
    process = project.start("run", largest_file=room)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2 and room < largest, (out, err)
    assert "Traceback" not in err and "cannot be written: File too large." in err.splitlines()[-1]
    assert project.workers() == []
    folder = results.find("last")
    if folder == whole:  # not even run.json had room
        assert not list((whole.parent).glob("*/*.part"))
        return
    assert f"harness resume {folder}" in err.splitlines()[-1]
    results.load(folder)
    assert project.run("resume").code == 0
    run = project.result()
    assert run.folder == folder
    assert [str(cell.status) for cell in run.cells] == ["ok", "ok"]


def test_tables_without_room_are_printed_all_the_same(project):
    project.run("run")
    (results.find("last") / "tables.md").unlink()
    (results.find("last") / "tables.md.part").mkdir()
    outcome = project.run("resume")
    assert outcome.code == 0 and "MobileNet" in outcome.out
    assert "tables.md: cannot be written: Is a directory." in outcome.err


@pytest.mark.parametrize("variable", ["HARNESS_RUNS", "HARNESS_CACHE"])
def test_a_folder_that_cannot_be_made(project, monkeypatch, variable):
    monkeypatch.setenv(variable, NOWHERE)
    outcome = project.run("run")
    assert outcome.code == 2
    assert outcome.err.startswith(f"Error: {NOWHERE}/") and f"Set {variable} to a folder that can be written." in outcome.err


@pytest.mark.parametrize("variable", ["HARNESS_RUNS", "HARNESS_CACHE", "HARNESS_CONFIG"])
def test_the_home_of_nobody(project, monkeypatch, variable):
    with monkeypatch.context() as patched:
        patched.setenv(variable, "~nobody-of-this-name/folder")
        outcome = project.run("run")
    assert outcome.code == 2 and outcome.err.startswith(f"Error: {variable} is '~nobody-of-this-name/folder': ")


def test_no_home(project, monkeypatch):
    """A user whom the system does not know, in a container for example, and no HOME."""

    def unknown(number):
        raise KeyError(number)

    with monkeypatch.context() as patched:
        for variable in ("HOME", "HARNESS_CACHE", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            patched.delenv(variable, raising=False)
        patched.setattr(pwd, "getpwuid", unknown)
        with pytest.raises(UserError, match=r"There is no home folder .* Set HARNESS_CACHE"):
            paths.cache()
        assert project.run("run").code == 2
        patched.setenv("HARNESS_CACHE", "cache")
        patched.delenv("HARNESS_CONFIG")
        assert project.run("run").code == 0
        assert not os.path.lexists("~")


def test_a_path_with_spaces_and_umlauts(tmp_path, monkeypatch):
    folder = tmp_path / "Läufe mit Leerzeichen, 数"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for variable, name in (("HARNESS_CACHE", "Zwischen ablage"), ("HARNESS_RUNS", "Läufe")):
        monkeypatch.setenv(variable, str(folder / name))
    monkeypatch.setenv("LC_ALL", "C")
    project = Project(folder)
    process = project.start("run")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and "MobileNet" in out, err
    assert str(project.result().cells[0].status) == "ok"
    project.add_adapter("other", lock="pluggy==1.5.0\nnumpy==1.26.4\n")
    assert "environment made" in project.run("env", "install", "other").err or project.run("env", "list").out.startswith("other-cpu")


def test_a_cache_removed_in_the_middle(project):
    """What was staged is staged anew; the interpreter is not in the cache."""
    process = project.configure(measure={**project.document["suites"]["tiny"]["measure"], "processes": 3}, **TWO).start("run")
    assert wait_until(lambda: list(paths.runs().glob("*/events.jsonl")) and project.events("block"), 60)
    shutil.rmtree(paths.cache(), ignore_errors=True)
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err and process.returncode in (0, 1), (out, err)
    for result in project.result().cells:
        assert str(result.status) == "ok" or result.reason
    assert project.workers() == []


def test_a_full_disk_behind_standard_output(project):
    project.run("run")
    with Path("/dev/full").open("w") as full:
        process = project.start("show", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and err == "Error: what is printed: No space left on device.\n"


def test_a_reader_that_reads_no_more_is_no_error(project):
    project.run("run")
    process = project.start("show")
    process.stdout.close()
    process.wait(60)
    assert process.stderr.read() == ""


def test_events_that_are_a_folder(project):
    project.run("run")
    folder = results.find("last")
    (folder / "events.jsonl").unlink()
    (folder / "events.jsonl").mkdir()
    for command in ("show", "resume"):
        outcome = project.run(command)
        assert outcome.code == 2 and outcome.err == f"Error: {folder}/events.jsonl: cannot be read: Is a directory.\n"


def test_doctor_looks_at_where_things_go(project, monkeypatch):
    (project.folder / "file").touch()
    for variable, what in (("HARNESS_CACHE", "cache"), ("HARNESS_RUNS", "runs")):
        with monkeypatch.context() as patched:
            patched.setenv(variable, str(project.folder / "file"))
            assert f"look  {what}: {project.folder / 'file'} cannot be used: " in project.run("doctor").out


def test_showing_writes_nothing(project):
    project.run("run")
    folder = results.find("last")
    before = {path: path.stat().st_mtime_ns for path in (folder, *folder.rglob("*"))}
    assert project.run("show", "--details").code == 0
    assert {path: path.stat().st_mtime_ns for path in (folder, *folder.rglob("*"))} == before


def test_room_is_looked_for_before_installing(project):
    devices = {"cpu": {"lock": "locks/cpu.txt", "disk_mib": 10**9}}
    project.add_adapter("large", lock="pluggy==1.5.0\n", devices=devices)
    outcome = project.run("env", "install", "large")
    assert outcome.code == 1
    assert "large: env-failed: the environment takes about 1,000,000,000 MiB, and " in outcome.err
    assert "Free some, or set HARNESS_CACHE to a folder on another disk" in outcome.err
