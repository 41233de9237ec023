"""The folder that a worker imports from."""

import json
import os
import subprocess
import sys

import pytest
from helpers import NUMPY

from harness import adapters, paths, staging


@pytest.fixture
def adapter(project):
    return project.add_adapter("mine")


def test_the_same_content_is_the_same_folder(adapter):
    folder, digest = staging.stage(adapter)
    made = folder.stat().st_mtime_ns
    assert staging.stage(adapter) == (folder, digest)
    assert folder.stat().st_mtime_ns == made, "it was not made again"
    assert folder.name == f"mine-{digest[:16]}" and folder.parent == paths.cache() / "staged"


@pytest.mark.parametrize("name", ["adapter.py", "__init__.py"])
def test_a_changed_byte_is_another_folder(adapter, name):
    before = staging.stage(adapter)
    path = adapter.folder / "harness_numpy" / name
    path.write_text(path.read_text() + "\n")
    after = staging.stage(adapter)
    assert after[0] != before[0] and after[1] != before[1]
    assert before[0].is_dir(), "a run that uses the old one keeps it"


def test_a_new_file_is_another_folder(adapter):
    before = staging.stage(adapter)[0]
    (adapter.folder / "harness_numpy" / "extra.py").write_text("")
    assert staging.stage(adapter)[0] != before


def test_nothing_of_the_host_is_inside(adapter):
    folder, _ = staging.stage(adapter)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"__main__.py", "harness/__init__.py", "harness/core/worker.py", "harness_numpy/adapter.py"} <= files
    assert not {f for f in files if not f.startswith(("harness/core/", "harness_numpy/"))} - {"__main__.py", "harness/__init__.py"}


def test_every_user_can_read_it(adapter):
    """In a container the worker may be another user, and one without the right to read everything."""
    before = os.umask(0o077)
    try:
        folder, _ = staging.stage(adapter)
    finally:
        os.umask(before)
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*"))}
    assert modes == {(True, 0o755), (False, 0o644)}


def test_nothing_half_made_is_left(adapter):
    staging.stage(adapter)
    staging.stage(adapters.load(NUMPY))
    assert sorted(path.name.partition("-")[0] for path in (paths.cache() / "staged").iterdir()) == ["mine", "numpy"]


def test_a_worker_runs_from_there_alone(adapter, tmp_path):
    """It answers from another folder, and what it imported came from the staged one."""
    folder, _ = staging.stage(adapter)
    command = [sys.executable, "-E", "-s", "-B", str(folder)]
    done = subprocess.run(command, input="{}\n", capture_output=True, text=True, cwd="/", timeout=60, check=False)
    event = json.loads(done.stdout)
    assert event["event"] == "failed" and event["reason"].startswith("job: ")
    assert f'File "{folder}/harness/core/worker.py"' in done.stderr
