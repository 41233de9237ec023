"""Environments: made by the real uv from a folder of hand-made wheels, without a network."""

import os
import re
import subprocess
import sys
import zipfile

import pytest

from harness import paths
from harness.config import EnvironmentSpec, Places
from harness.envs import interpreter, provision, venv
from harness.envs.base import EnvFailed
from harness.envs.process import worker_variables


def make_wheel(folder, name, version):
    """Write a wheel with one module that knows its version."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            wheel.writestr(inside, text)
    return path


def make_index(folder, *wheels):
    """Write a PEP 503 index of ``wheels`` and return its address."""
    for wheel in wheels:
        page = folder / wheel.name.partition("-")[0] / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f'<a href="{wheel.as_uri()}">{wheel.name}</a>')
    return folder.as_uri()


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """The user's pip looks into a folder of wheels and nowhere else."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    make_wheel(tmp_path / "wheels", "tinylib", "1.0")
    make_wheel(tmp_path / "wheels", "tinylib", "2.0")


@pytest.fixture
def adapter(project, offline):
    return project.add_adapter("other", lock="tinylib==1.0\n")


def version_in(environment):
    """What a process of that environment imports."""
    code = "import tinylib, sys; print(tinylib.__version__, sys.prefix)"
    done = subprocess.run([str(environment.python), "-E", "-s", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return tuple(done.stdout.split())


def log_of(environment):
    home = environment.python.parent.parent
    return home.parent / f"{home.name}.log"


def calls(environment):
    """How often uv was called for it."""
    return log_of(environment).read_text().count("$ uv ")


class TestMaking:
    def test_it_is_made_and_found_again(self, adapter):
        assert venv.existing(adapter, "cpu") is None
        made = venv.provide(adapter, "cpu")
        assert version_in(made) == ("1.0", str(venv.folder(adapter, "cpu")))
        assert made.fingerprint["packages"] == ["tinylib==1.0"] and len(made.fingerprint["lock"]) == 64
        before = made.python.parent.parent.stat().st_mtime_ns
        assert venv.provide(adapter, "cpu") == made == venv.existing(adapter, "cpu")
        assert made.python.parent.parent.stat().st_mtime_ns == before

    def test_a_half_made_one_is_made_anew(self, adapter):
        made = venv.provide(adapter, "cpu")
        home = venv.folder(adapter, "cpu")
        (home / "complete.json").unlink()
        (home / "left-over").write_text("")
        assert venv.existing(adapter, "cpu") is None
        assert venv.provide(adapter, "cpu") == made
        assert version_in(made)[0] == "1.0" and not (home / "left-over").exists()

    @pytest.mark.parametrize("marker", ["", "{"])
    def test_a_damaged_marker_counts_as_half_made(self, adapter, marker):
        made = venv.provide(adapter, "cpu")
        (venv.folder(adapter, "cpu") / "complete.json").write_text(marker)
        assert venv.provide(adapter, "cpu") == made

    def test_one_whose_python_is_gone_is_made_anew(self, adapter):
        """The Python that it was made from was removed by an upgrade of the system."""
        made = venv.provide(adapter, "cpu")
        for path in made.python.parent.glob("python*"):
            path.unlink()
        made.python.symlink_to("/nowhere/python3")
        assert version_in(venv.provide(adapter, "cpu"))[0] == "1.0"

    def test_a_changed_lock_is_another_folder(self, adapter):
        first = venv.provide(adapter, "cpu")
        adapter.lock("cpu").write_text("tinylib==2.0\n")
        second = venv.provide(adapter, "cpu")
        assert (version_in(first)[0], version_in(second)[0]) == ("1.0", "2.0")

    def test_what_defines_the_folder(self, adapter, tmp_path):
        plain = venv.folder(adapter, "cpu")
        assert venv.folder(adapter, "cpu") == plain and plain.name.startswith("other-cpu-")
        assert venv.folder(adapter, "cpu", "/some/python3") != plain

    def test_the_users_python_is_used(self, adapter):
        made = venv.provide(adapter, "cpu", sys.executable)
        assert made.fingerprint["python"] == sys.executable and version_in(made)[0] == "1.0"

    def test_listed_and_removed(self, adapter):
        made = venv.provide(adapter, "cpu")
        home = venv.folder(adapter, "cpu")
        assert venv.installed() == [(home, made.fingerprint)]
        venv.remove(home)
        assert venv.installed() == [] and not home.exists()
        assert venv.provide(adapter, "cpu") == made


class TestFailing:
    def test_a_lock_that_cannot_be_had(self, adapter):
        adapter.lock("cpu").write_text("tinylib==3.0\n")
        with pytest.raises(EnvFailed) as failure:
            venv.provide(adapter, "cpu")
        assert failure.value.reason.startswith("the packages could not be installed: ") and "tinylib==3.0" in failure.value.reason
        assert "$ uv pip install" in failure.value.log.read_text() and "tinylib==3.0" in failure.value.log.read_text()
        assert venv.existing(adapter, "cpu") is None and venv.installed() == []

    def test_it_works_once_the_cause_is_gone(self, adapter, tmp_path):
        adapter.lock("cpu").write_text("tinylib==3.0\n")
        with pytest.raises(EnvFailed):
            venv.provide(adapter, "cpu")
        make_wheel(tmp_path / "wheels", "tinylib", "3.0")
        assert version_in(venv.provide(adapter, "cpu"))[0] == "3.0"

    def test_a_python_that_is_not_there(self, adapter):
        with pytest.raises(EnvFailed, match="no Python /no/python could be had: "):
            venv.provide(adapter, "cpu", "/no/python")

    def test_a_cache_that_cannot_be_written(self, adapter, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
        with pytest.raises(EnvFailed, match="cannot be written: Not a directory"):
            venv.provide(adapter, "cpu")

    def test_the_others_go_on(self, project, offline):
        """One framework's environment fails; the other framework is measured, and the exit code says that something failed."""
        project.add_adapter("broken", lock="tinylib==3.0\n")
        outcome = project.run("run")
        endings = project.endings()
        assert endings["numpy/honest"] == ("ok", "")
        status, reason = endings["broken/honest"]
        assert status == "env-failed" and "tinylib==3.0" in reason and ".log)" in reason
        assert outcome.code == 1
        assert re.search(r"env-failed \[\d\]", outcome.out) and "broken: env-failed: the packages could not be installed" in outcome.err


class TestTwoProcesses:
    def test_one_makes_it_and_both_get_it(self, adapter, tmp_path):
        code = (
            "import sys; from pathlib import Path; from harness import adapters; from harness.envs import venv\n"
            "print(venv.provide(adapters.load(Path(sys.argv[1])), 'cpu').python)"
        )
        both = [
            subprocess.Popen([sys.executable, "-c", code, str(adapter.folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        answers = [process.communicate(timeout=120) for process in both]
        assert [process.returncode for process in both] == [0, 0], answers
        made = venv.existing(adapter, "cpu")
        assert {out.strip() for out, _ in answers} == {str(made.python)}
        assert calls(made) == 3, "venv, install and freeze, once each"

    def test_a_killed_maker_does_not_block(self, adapter, tmp_path):
        """The lock goes with the process that held it."""
        home = venv.folder(adapter, "cpu")
        code = (
            "import os, sys, filelock, pathlib; home = sys.argv[1]; pathlib.Path(home).mkdir(parents=True)\n"
            "filelock.FileLock(home + '.lock').acquire(); os.kill(os.getpid(), 9)"
        )
        subprocess.run([sys.executable, "-c", code, str(home)], timeout=60, check=False)
        assert home.is_dir()
        assert version_in(venv.provide(adapter, "cpu"))[0] == "1.0"


class TestFallback:
    """The manifest's index has release 3.0, the user's own sources have 1.0 and 2.0."""

    @pytest.fixture
    def build(self, project, offline, monkeypatch, tmp_path):
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", make_index(tmp_path / "own", tmp_path / "wheels" / "tinylib-1.0-py3-none-any.whl"))
        vendors = make_index(tmp_path / "vendor", make_wheel(tmp_path / "far", "tinylib", "3.0"))

        def made(lock):
            return project.add_adapter("other", lock=lock, devices={"cpu": {"lock": "locks/cpu.txt", "fallback_index": vendors}})

        return made

    def test_it_is_used_where_the_users_sources_fail(self, build):
        made = venv.provide(build("tinylib==3.0\n"), "cpu")
        assert version_in(made)[0] == "3.0" and calls(made) == 4

    def test_it_is_not_asked_otherwise(self, build, tmp_path):
        made = venv.provide(build("tinylib==1.0\n"), "cpu")
        assert version_in(made)[0] == "1.0" and calls(made) == 3
        assert "vendor" not in log_of(made).read_text()

    def test_no_index_means_no_index(self, build, monkeypatch):
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        with pytest.raises(EnvFailed, match="the packages could not be installed"):
            venv.provide(build("tinylib==3.0\n"), "cpu")

    def test_it_is_part_of_the_definition(self, build):
        adapter = build("tinylib==1.0\n")
        spec = adapter.manifest.devices["cpu"].model_copy(update={"fallback_index": None})
        without = adapter.model_copy(update={"manifest": adapter.manifest.model_copy(update={"devices": {"cpu": spec}})})
        assert venv.folder(adapter, "cpu") != venv.folder(without, "cpu")


class TestInterpreter:
    def test_this_one(self, project):
        made = interpreter.provide(project.add_adapter("other"), sys.executable)
        assert made.kind == "interpreter" and str(made.python) == sys.executable
        assert made.fingerprint["numpy"] and made.fingerprint["pluggy"]

    @pytest.mark.parametrize("python", ["/no/such/python", "/bin/true", "/bin/false", "/bin/sh", "/etc", "~nobody-of-this-name/python"])
    def test_what_is_no_python(self, project, python):
        with pytest.raises(EnvFailed, match=f"environments.other.python is '{python}', which does not answer as a Python: "):
            interpreter.provide(project.add_adapter("other"), python)

    def test_a_python_without_numpy(self, project, offline, tmp_path):
        bare = venv.provide(project.add_adapter("bare", lock=""), "cpu")
        with pytest.raises(EnvFailed) as failure:
            interpreter.provide(project.add_adapter("other"), str(bare.python))
        assert failure.value.reason == f"{bare.python} lacks numpy and pluggy, which every worker needs: install them there"

    def test_one_that_fails_stops_nobody(self, project):
        project.add_adapter("other", environment={"kind": "interpreter", "python": "/no/such/python"})
        assert project.run("run").code == 1
        assert [status for status, _ in project.endings().values()] == ["ok", "env-failed"]


def test_provide_all_tells_each_outcome(project, offline):
    good, bad = project.add_adapter("good", lock="tinylib==1.0\n"), project.add_adapter("bad", lock="tinylib==3.0\n")
    needs, told = [("good", "cpu"), ("bad", "cpu")], []
    outcomes = provision.provide_all(needs, {"good": good, "bad": bad}, Places(), lambda need, outcome: told.append((need, outcome)))
    assert sorted(need for need, _ in told) == sorted(needs) and dict(told) == outcomes
    assert isinstance(outcomes["bad", "cpu"], EnvFailed) and outcomes["good", "cpu"].adapter == "good"


def test_a_spec_names_the_kind(project, offline):
    adapter = project.add_adapter("other", lock="tinylib==1.0\n")
    named = Places(environments={"other": EnvironmentSpec(kind="interpreter", python=sys.executable)})
    assert provision.provide(adapter, "cpu", named).kind == "interpreter"
    assert provision.provide(adapter, "cpu", Places()).kind == "venv"


def test_requested_python():
    running = ".".join(map(str, sys.version_info[:3]))
    assert venv.requested_python(">=3.8") == running
    assert venv.requested_python(">=3.6,<3.9") == ">=3.6,<3.9"


def test_a_worker_inherits_only_what_is_listed(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    variables = worker_variables(2, "cuda")
    assert not {"SECRET_TOKEN", "TF_CPP_MIN_LOG_LEVEL", "PYTHONPATH"} & set(variables)
    assert variables["OMP_NUM_THREADS"] == variables["MKL_NUM_THREADS"] == "2" and variables["CUDA_VISIBLE_DEVICES"] == "1"


def test_no_secret_of_the_user_s_is_written_anywhere(project, monkeypatch):
    """Neither the password of an index nor a variable of the user's reaches a result, a log, or the worker."""
    monkeypatch.setenv("PIP_INDEX_URL", "https://somebody:hunter2@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://hunter2@127.0.0.1:9/more")
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    project.add_adapter("other", lock="there-is-no-such-package==1.0\n")
    outcome = project.run("run")
    assert project.endings()["other/honest"][0] == "env-failed" and project.endings()["numpy/honest"] == ("ok", "")
    assert "hunter2" not in outcome.out + outcome.err
    written = [path for folder in (paths.runs(), paths.cache()) for path in folder.rglob("*") if path.is_file()]
    assert {"events.jsonl", "run.json", "tables.md"} <= {path.name for path in written}
    assert any(path.name.startswith("other-cpu-") and path.suffix == ".log" and "****@127.0.0.1" in path.read_text() for path in written)
    assert [path for path in written if b"hunter2" in path.read_bytes()] == []
