"""Containers as far as they can be told without an engine: a script that takes notes plays it, and runs workers as plain processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT, write_toml

from harness import hostinfo, runner
from harness.config import Containers, EnvironmentSpec, Places
from harness.envs import container, engine, image, provision
from harness.envs.base import EnvFailed

FAKE = f"""#!{sys.executable}
import glob, json, os, shutil, signal, sys, time
here, arguments = os.path.dirname(os.path.abspath(__file__)), sys.argv[1:]
with open(here + "/calls.jsonl", "a") as notes:
    notes.write(json.dumps(arguments) + "\\n")
with open(here + "/answers.json") as file:
    answers = json.load(file)
known = "build image images info inspect pause ps rm rmi run unpause version".split()
word = next((word for word in arguments if word in known), "")
if word == "run":  # the worker's command, as a process of this host
    staged = [argument.partition(":")[0] for argument in arguments if argument.endswith(":/staged:ro")]
    command = [staged[0] if argument == "/staged" else argument for argument in arguments[arguments.index("python") + 1 :]]
if word == "build":
    shutil.copytree(arguments[-1], here + "/context", dirs_exist_ok=True)
    shutil.copy([argument.partition("src=")[2] for argument in arguments if "src=" in argument][0], here + "/pip.conf")
if word == "rm":  # all that is in the container goes, whatever it thinks of signals
    for place in glob.glob("/proc/[0-9]*"):
        try:
            with open(place + "/environ", "rb") as file:
                if ("IN_CONTAINER=" + arguments[-1]).encode() in file.read().split(b"\\0"):
                    os.kill(int(place[6:]), signal.SIGKILL)
        except OSError:
            pass
if word in answers:
    code, out, err, seconds = answers[word]
    time.sleep(seconds)
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.exit(code)
if word == "run":
    os.environ["IN_CONTAINER"] = next((word[7:] for word in arguments if word.startswith("--name=")), "")
    os.execv({sys.executable!r}, [{sys.executable!r}, *command])
"""


class FakeEngine:
    """A podman or docker that answers what it is told to, and takes notes."""

    def __init__(self, folder: Path, name: str = "podman") -> None:
        self.folder = folder
        self.path = folder / name
        folder.mkdir()
        self.path.write_text(FAKE)
        self.path.chmod(0o755)
        self._answers = {"version": (0, "9.9\n", "", 0), "image": (0, "sha256:abc\n", "", 0)}
        self.answer()

    def answer(self, **answers: tuple[int, str, str, float]) -> None:
        """For each subcommand the exit code, the two outputs, and the seconds that it takes. Others do nothing, and `run` runs."""
        self._answers.update(answers)
        (self.folder / "answers.json").write_text(json.dumps(self._answers))

    def calls(self, word: str) -> list[list[str]]:
        path = self.folder / "calls.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [call for call in map(json.loads, lines) if word in call]

    def settings(self, **fields: object) -> Containers:
        return Containers(engine=str(self.path), **fields)  # type: ignore[arg-type]


@pytest.fixture
def fake(tmp_path):
    return FakeEngine(tmp_path / "fake")


@pytest.fixture
def boxed(project):
    """An adapter whose default environment is a container."""
    return project.add_adapter("boxed", lock="tinylib==1.0\n", containerfile="FROM scratch\n")


def configure(project, fake, **fields):
    project.document["containers"] = {"engine": str(fake.path), **fields}
    project.save()


def provide(adapter, fake, spec=None, **settings):
    return container.provide(adapter, "cpu", spec or EnvironmentSpec(), fake.settings(**settings))


def launched(adapter, fake, device="cpu", **settings):
    """The engine's arguments for a worker."""
    command = provide(adapter, fake, **settings).launch(Path("/cache/staged/boxed-1"), [2, 5], device).command
    return command[command.index(str(fake.path)) + 1 :]


class TestRunFlags:
    def test_confined(self, boxed, fake):
        words = launched(boxed, fake, memory="2g")
        assert words[0] == "run" and words[-6:] == ["sha256:abc", "python", "-E", "-s", "-B", "/staged"]
        wanted = (
            "--interactive --rm --pull=never --network=none --read-only --tmpfs=/tmp:exec --cap-drop=all --security-opt=no-new-privileges"
        )
        assert set(wanted.split()) | {"--cpuset-cpus=2,5", "--memory=2g", "--memory-swap=2g", "--log-driver=none"} <= set(words)
        assert words[words.index("--volume") + 1] == "/cache/staged/boxed-1:/staged:ro"

    def test_the_users_flags_have_the_last_word(self, boxed, fake):
        words = launched(boxed, fake, engine_flags=("--runtime", "runc"), run_flags=("--cap-drop=none", "--ulimit", "nofile=9:9"))
        assert words[:3] == ["--runtime", "runc", "run"]
        assert words[-9:-6] == ["--cap-drop=none", "--ulimit", "nofile=9:9"]

    def test_nothing_of_the_users_variables_comes_in(self, boxed, fake, monkeypatch):
        monkeypatch.setenv("SECRET_TOKEN", "x")
        monkeypatch.setenv("TZ", "Europe/Berlin")
        words = launched(boxed, fake)
        variables = dict(word.removeprefix("--env=").split("=", 1) for word in words if word.startswith("--env="))
        assert variables["OMP_NUM_THREADS"] == variables["OPENBLAS_NUM_THREADS"] == "2" and variables["TZ"] == "Europe/Berlin"
        assert variables["HOME"] == "/tmp" and not {"PATH", "SECRET_TOKEN", "LD_LIBRARY_PATH"} & set(variables)

    def test_memory_is_what_the_harness_may_use(self, boxed, fake):
        assert f"--memory={hostinfo.granted_memory()}b" in launched(boxed, fake)

    @pytest.mark.parametrize(("name", "flags"), [("podman", ["--device", "nvidia.com/gpu=all"]), ("docker", ["--gpus", "all"])])
    def test_gpus(self, boxed, tmp_path, name, flags):
        fake = FakeEngine(tmp_path / "other", name)
        words, without = launched(boxed, fake, device="cuda:1"), launched(boxed, fake)
        assert words[words.index(flags[0]) + 1] == flags[1] and flags[0] not in without

    def test_a_gpu_by_uuid(self, boxed, fake, monkeypatch):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
        uuid = "GPU-2fd2c5c5-8a4b-1c3d-9e7f-0123456789ab"
        words = launched(boxed, fake, device=uuid)
        assert "nvidia.com/gpu=all" in words  # or --gpus all: which of them is seen says the variable
        assert [word for word in words if "CUDA_VISIBLE_DEVICES" in word] == [f"--env=CUDA_VISIBLE_DEVICES={uuid}"]

    @pytest.mark.parametrize("name", ["podman", "docker"])
    def test_what_one_engine_alone_knows(self, boxed, tmp_path, name):
        fake = FakeEngine(tmp_path / "other", name)
        assert ("--http-proxy=false" in launched(boxed, fake)) == (name == "podman")
        container.remove(engine.find(fake.settings()), "x")
        assert fake.calls("rm") == [["rm", "--force", *(["--ignore", "--time=0"] if name == "podman" else []), "x"]]

    def test_two_workers_have_two_names(self, boxed, fake):
        names = {word for _ in range(2) for word in launched(boxed, fake) if word.startswith("--name=")}
        assert len(names) == 2 and all(name.startswith(f"--name=framework-harness-{os.getpid()}-") for name in names)

    def test_the_fingerprint(self, boxed, fake):
        told = provide(boxed, fake, memory="2g").fingerprint
        wanted = {"image": image.tag(boxed, "cpu"), "image_id": "sha256:abc", "engine": "podman", "engine_version": "9.9", "memory": "2g"}
        assert wanted.items() <= told.items()
        assert told["python"] == ".".join(map(str, sys.version_info[:3])) and any(line.startswith("numpy==") for line in told["packages"])


class TestBuilding:
    @pytest.fixture(autouse=True)
    def not_there(self, fake, monkeypatch):
        """The image is there once `build` was called."""
        monkeypatch.setattr(image, "identity", lambda *_: "sha256:abc" if fake.calls("build") else None)

    def test_what_is_built(self, boxed, fake, monkeypatch):
        monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
        provide(boxed, fake, engine_flags=("--runtime", "runc"), build_flags=("--isolation=chroot",))
        (words,) = fake.calls("build")
        assert words[:3] == ["--runtime", "runc", "build"] and words[-2] == "--isolation=chroot"
        assert words[words.index("--tag") + 1] == image.tag(boxed, "cpu")
        assert words[words.index("--secret") + 1].startswith("id=pip.conf,src=")
        context = {path.name: path.read_text() for path in (fake.folder / "context").iterdir()}
        assert context == {"Containerfile": "FROM scratch\n", "requirements.txt": "tinylib==1.0\n"}
        assert "index-url = https://index.example/simple\n" in (fake.folder / "pip.conf").read_text()
        assert not Path(words[-1]).exists(), "the folder is gone"

    def test_it_is_built_once(self, boxed, fake):
        assert provide(boxed, fake) == provide(boxed, fake)
        assert len(fake.calls("build")) == 1

    def test_the_users_certificate_is_mounted(self, boxed, fake, monkeypatch, tmp_path):
        (tmp_path / "own.pem").write_text("")
        monkeypatch.setenv("PIP_CERT", str(tmp_path / "own.pem"))
        provide(boxed, fake)
        (words,) = fake.calls("build")
        assert f"{tmp_path}/own.pem:{tmp_path}/own.pem:ro" in words

    def test_a_failure(self, boxed, fake):
        fake.answer(build=(1, "STEP 1\n", "no such thing\nError: exit status 1\n", 0))
        with pytest.raises(EnvFailed) as failure:
            provide(boxed, fake)
        assert failure.value.reason == "the image could not be built: STEP 1 no such thing Error: exit status 1"
        assert " build --file " in failure.value.log.read_text()

    def test_a_build_without_end(self, boxed, fake, monkeypatch):
        monkeypatch.setattr(image, "BUILD_LIMIT", 0.5)
        fake.answer(build=(0, "", "", 60))
        with pytest.raises(EnvFailed, match=r"the image could not be built: it took longer than \d s"):
            provide(boxed, fake)


class TestTag:
    def test_its_form(self, boxed):
        name, _, digest = image.tag(boxed, "cpu").rpartition(":")
        assert name == "localhost/framework-harness/boxed-cpu" and len(digest) == 16

    @pytest.mark.parametrize("file", ["Containerfile", "locks/cpu.txt"])
    def test_a_changed_input_is_another_image(self, boxed, file):
        before = image.tag(boxed, "cpu")
        (boxed.folder / file).write_text("# changed\n")
        assert image.tag(boxed, "cpu") != before

    def test_a_changed_layout_is_another_image(self, boxed, monkeypatch):
        before = image.tag(boxed, "cpu")
        monkeypatch.setattr(image, "LAYOUT", image.LAYOUT + 1)
        assert image.tag(boxed, "cpu") != before


class TestFailing:
    def test_an_image_that_is_not_here(self, boxed, fake):
        fake.answer(image=(1, "", "no such image\n", 0))
        with pytest.raises(EnvFailed, match="the image vendor/x:1 is not on this host: get it with `podman pull vendor/x:1`"):
            provide(boxed, fake, EnvironmentSpec(kind="container", image="vendor/x:1"))
        assert not fake.calls("build")

    def test_an_image_without_numpy(self, boxed, fake):
        fake.answer(run=(0, json.dumps({"python": "3.6.0", "numpy": None, "pluggy": None}), "", 0))
        with pytest.raises(EnvFailed, match="the image vendor/x:1 lacks numpy and pluggy, which every worker needs"):
            provide(boxed, fake, EnvironmentSpec(kind="container", image="vendor/x:1"))

    def test_an_image_without_python(self, boxed, fake):
        fake.answer(run=(127, "", "Error: executable file `python3` not found in $PATH\n", 0))
        with pytest.raises(EnvFailed, match="python in the image vendor/x:1 does not answer as a Python: Error: executable file"):
            provide(boxed, fake, EnvironmentSpec(kind="container", image="vendor/x:1"))

    def test_an_adapter_without_containerfile(self, project, fake):
        with pytest.raises(EnvFailed, match=r"environments.plain has kind 'container', but the adapter has no Containerfile for cpu"):
            provide(project.add_adapter("plain"), fake, EnvironmentSpec(kind="container"))

    def test_an_engine_that_does_nothing_but_fail(self, project, boxed, fake):
        """Only the cell that needs it fails."""
        configure(project, fake)
        fake.answer(ps=(125, "", "cannot connect to the daemon\n", 0))
        assert project.run("run").code == 1
        assert project.endings() == {
            "numpy/honest": ("ok", ""),
            "boxed/honest": ("env-failed", "podman ps --all failed: cannot connect to the daemon"),
        }

    def test_an_engine_that_is_no_program(self, boxed, tmp_path):
        (tmp_path / "podman").write_text("")
        (tmp_path / "podman").chmod(0o755)
        with pytest.raises(EnvFailed, match="podman cannot be started: Exec format error"):
            container.provide(boxed, "cpu", EnvironmentSpec(), Containers(engine=str(tmp_path / "podman")))


class TestNoEngine:
    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({}, "this host has neither podman nor docker: install podman, for example `apt install podman`"),
            ({"engine": "/no/podman"}, "containers.engine is '/no/podman', which is no program here"),
        ],
    )
    def test_the_plan_says_so(self, project, boxed, monkeypatch, tmp_path, settings, reason):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("HARNESS_CONFIG", str(write_toml(tmp_path / "empty.toml", {"version": 1})))
        project.document["containers"] = settings
        project.save()
        lines = project.run("run", "--dry-run").out.splitlines()
        assert f"mobilenet/infer/cpu/fp32/b2/s32/boxed/honest  N/A: Boxed runs in a container and {reason}" in lines
        assert "mobilenet/infer/cpu/fp32/b2/s32/numpy/honest" in lines

    def test_a_python_of_the_users_needs_none(self, project, boxed):
        assert project.run("run", "--python", f"boxed={sys.executable}").code == 0

    def test_install_fails(self, project, boxed):
        outcome = project.run("env", "install", "boxed")
        assert outcome.code == 1 and "boxed: env-failed: Boxed runs in a container and containers.engine is 'no-engine'" in outcome.err

    def test_install_of_all_leaves_it_out(self, project, boxed, monkeypatch):
        """As its cells are N/A, nothing failed."""
        monkeypatch.setattr("harness.adapters.discover", lambda _: {"boxed": boxed})
        outcome = project.run("env", "install")
        assert outcome.code == 0 and outcome.err.startswith("boxed: left out: Boxed runs in a container and containers.engine is")

    def test_podman_comes_first(self, tmp_path, monkeypatch):
        docker, podman = FakeEngine(tmp_path / "a", "docker"), FakeEngine(tmp_path / "b", "podman")
        monkeypatch.setenv("PATH", f"{docker.folder}:{podman.folder}")
        assert engine.find(Containers()).path == str(podman.path)
        assert engine.find(Containers(engine="docker")).path == str(docker.path)
        podman.path.unlink()
        assert engine.find(Containers()).name == "docker"
        assert not docker.calls("version"), "nothing was started"


class TestRuns:
    def test_blocks_alternate_with_a_process(self, project, boxed, fake):
        """A whole run: the container is paused before its rival runs, and removed at the end."""
        configure(project, fake)
        outcome = project.run("run")
        assert outcome.code == 0, outcome.err
        assert project.endings() == {"numpy/honest": ("ok", ""), "boxed/honest": ("ok", "")}
        assert len(fake.calls("pause")) == len(fake.calls("unpause")) == 4  # after the warm-up and three blocks
        name = fake.calls("pause")[0][-1]
        assert fake.calls("rm")[-1][-1] == name and f"--name={name}" in fake.calls("run")[-1]
        assert project.workers() == []

    def test_one_that_cannot_be_parked_is_not_measured(self, project, boxed, fake, monkeypatch):
        monkeypatch.setattr(container, "GRACE", 0.5)
        configure(project, fake)
        fake.answer(pause=(125, "", "no freezer here\n", 0))
        project.run("run")
        assert project.endings()["numpy/honest"] == ("ok", "")
        status, reason = project.endings()["boxed/honest"]
        assert status == "env-failed" and reason.startswith("podman pause framework-harness-")
        assert reason.endswith(" failed: no freezer here")
        assert project.workers() == []

    def test_a_hang_ends_at_its_limit(self, project, boxed, fake, monkeypatch):
        monkeypatch.setitem(runner.LIMITS, "parity", 3.0)
        monkeypatch.setattr(container, "GRACE", 0.5)
        configure(project, fake)
        project.run("run", "--adapter", "boxed", "--variant", "boxed=hangs")
        assert project.endings() == {"boxed/hangs": ("timeout", "parity took longer than 3 s")}
        assert fake.calls("rm") and project.workers() == []

    @pytest.mark.parametrize(
        ("code", "status", "how"),
        [
            (137, "oom", "killed (exit code 137) as the kernel does beyond the container's memory limit, which is 2g"),
            (125, "env-failed", "not started by podman (exit code 125)"),
            (139, "crashed", "killed by signal 11 (SIGSEGV)"),
            (-9, "crashed", "killed by signal 9 (SIGKILL)"),
            (123, "crashed", "ended with exit code 123"),
            (255, "crashed", "ended with exit code 255"),
        ],
    )
    def test_what_an_exit_code_means(self, fake, code, status, how):
        keeper = container.Container(engine.find(fake.settings(memory="2g")), "x")
        assert keeper.death(code) == (status, how)


class TestReaping:
    def reaped(self, fake, label):
        fake.answer(ps=(0, "framework-harness-1\n", "", 0), inspect=(0, label + "\n", "", 0))
        container.reap(engine.find(fake.settings()))
        return [call[-1] for call in fake.calls("rm")]

    def test_that_of_a_running_harness_stays(self, fake):
        assert self.reaped(fake, container.owner(os.getpid())) == []

    def test_that_of_a_dead_one_goes(self, fake):
        process = subprocess.Popen(["sleep", "60"])
        label = container.owner(process.pid)
        assert self.reaped(fake, label) == []
        process.kill()
        process.wait()
        assert self.reaped(fake, label) == ["framework-harness-1"]

    def test_a_number_that_was_taken_again_goes(self, fake):
        label = container.owner(os.getpid()).rpartition("/")[0] + "/1"
        assert self.reaped(fake, label) == ["framework-harness-1"]

    @pytest.mark.parametrize("label", ["elsewhere/pid:[1]/999999999/1", "", "nonsense"])
    def test_that_of_another_host_or_of_nobody_stays(self, fake, label):
        """An engine may be shared, over a socket in a container or over the network."""
        assert self.reaped(fake, label) == []


class TestEnv:
    def test_list_and_remove(self, project, fake):
        configure(project, fake)
        fake.answer(images=(0, "docker.io/library/python:3.6 380 MB\nlocalhost/framework-harness/boxed-cpu:0123 435 MB\n", "", 0))
        assert project.run("env", "list").out == "boxed-cpu:0123  container image, 435 MB\n"
        assert project.run("env", "remove", "boxed-cpu:0123").out == "removed image boxed-cpu:0123\n"
        assert fake.calls("rmi") == [["rmi", "localhost/framework-harness/boxed-cpu:0123"]]

    def test_one_that_is_in_use(self, project, fake):
        configure(project, fake)
        fake.answer(images=(0, "localhost/framework-harness/boxed-cpu:0123 435 MB\n", "", 0), rmi=(2, "", "Error: image is in use\n", 0))
        outcome = project.run("env", "remove", "boxed-cpu:0123")
        assert outcome.code == 2 and "boxed-cpu:0123: podman rmi localhost/" in outcome.err and "image is in use" in outcome.err

    def test_an_engine_that_fails_hides_no_environment(self, project, fake):
        configure(project, fake)
        fake.answer(images=(1, "", "no daemon\n", 0))
        outcome = project.run("env", "list")
        assert outcome.code == 0 and "no daemon" in outcome.err and "There are no environments yet" in outcome.out


class TestDoctor:
    def line(self, project):
        return next(line for line in project.run("doctor").out.splitlines() if "container engine" in line)

    def test_none(self, project):
        assert self.line(project).startswith("ok    container engine: none, so cells that need one are N/A: ")

    def test_one_that_answers(self, project, fake):
        configure(project, fake)
        assert self.line(project).startswith(f"ok    container engine: podman 9.9 ({fake.path}) answers; no image")

    def test_one_that_runs(self, project, fake):
        configure(project, fake)
        fake.answer(images=(0, "localhost/framework-harness/boxed-cpu:0123 435 MB\n", "", 0))
        assert "podman 9.9" in self.line(project) and " runs a container in " in self.line(project)

    def test_one_that_fails(self, project, fake):
        configure(project, fake)
        fake.answer(version=(125, "", "cannot connect\n", 0))
        assert self.line(project).startswith("look  container engine: ") and self.line(project).endswith("cannot connect")


def test_the_kind_follows_manifest_and_user(boxed, project):
    plain = project.add_adapter("plain")
    assert (boxed.environment_kind("cpu", EnvironmentSpec()), plain.environment_kind("cpu", EnvironmentSpec())) == ("container", "venv")
    assert boxed.environment_kind("cpu", EnvironmentSpec(kind="venv")) == "venv"


def test_provision_takes_a_container(boxed, fake):
    assert provision.provide(boxed, "cpu", Places(containers=fake.settings())).kind == "container"


def test_nobody_else_knows_an_engine():
    """Other files ask envs/engine.py, so that flags and limits hold everywhere."""
    users = {path.name for path in (ROOT / "harness").rglob("*.py") if '"podman"' in path.read_text(encoding="utf-8")}
    assert users == {"container.py", "engine.py", "image.py"}
