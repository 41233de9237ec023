"""Real containers: a small image with numpy on Python 3.6, and the numpy fixture in it.

How containers run on this host comes from the developer's own configuration file. The base image has to be here already.
"""

import json
import os
import signal
import subprocess
import time

import pytest
from helpers import wait_until

from harness import runner, staging
from harness.config import EnvironmentSpec
from harness.envs import container, engine, image
from harness.envs.base import EnvFailed

pytestmark = pytest.mark.containers

BASE = "docker.io/library/python:3.6-slim"
CONTAINERFILE = f"""FROM {BASE}
COPY requirements.txt /tmp/requirements.txt
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf pip install --no-cache-dir -r /tmp/requirements.txt
"""
LOCK = "importlib-metadata==4.8.3\nnumpy==1.19.5\npluggy==1.0.0\ntyping-extensions==4.1.1\nzipp==3.6.0\n"
NAME = f"boxed-{os.getpid()}"  # this session's own

# What a worker can and cannot do, told from inside.
LOOK = """
import json, os, socket
def refused(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        return error.strerror
found = {
    "write staged": refused(open, "/staged/x", "w"),
    "write root": refused(open, "/x", "w"),
    "write home": refused(open, os.path.expanduser("~/x"), "w"),
    "connect": refused(socket.create_connection, ("192.0.2.1", 80), 5),
    "interfaces": os.listdir("/sys/class/net"),
    "capabilities": [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")],
    "privileges": [line.split()[1] for line in open("/proc/self/status") if line.startswith("NoNewPrivs")],
    "cpus": sorted(os.sched_getaffinity(0)),
    "variables": sorted(os.environ),
    "staged": sorted(os.listdir("/staged")),
    "pip.conf": os.path.exists("/etc/pip.conf"),
}
os.sched_setaffinity(0, found["cpus"][:1])
found["pinned"] = sorted(os.sched_getaffinity(0)) == found["cpus"][:1]
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def places(own_places):
    found = engine.find(own_places.containers)
    if found is None:
        pytest.skip("tests/containers: this host has no container engine")
    if image.identity(found, BASE) is None:
        pytest.skip(f"tests/containers: the image {BASE} is not on this host")
    yield own_places
    for built in image.built(found):
        if built.name.startswith(NAME):
            image.remove(found, built.name)


@pytest.fixture
def host(places):
    return engine.find(places.containers)


@pytest.fixture
def boxed(project, places, host):
    """The adapter, in a project that runs containers as the developer's file says."""
    project.document["containers"] = {**places.containers.model_dump(exclude_unset=True), "engine": host.path}
    return project.add_adapter(NAME, lock=LOCK, containerfile=CONTAINERFILE, python=">=3.6,<3.7")


def provided(adapter, places):
    return container.provide(adapter, "cpu", EnvironmentSpec(), places.containers)


def ours(host, pid=None, status=None):
    """Containers, all or those of one status, that a process has started, by default this one."""
    chosen = ["--filter", f"status={status}"] if status else []
    names = host.ask("ps", "--all", *chosen, "--format", "{{.Names}}").splitlines()
    return [name for name in names if name.startswith(f"framework-harness-{pid or os.getpid()}-")]


def test_a_run_beside_a_process(project, boxed, host, monkeypatch):
    """Blocks alternate between a container and a process; while one is asked, the other is stopped."""
    frozen = []

    def watched(rival, request, expected, label, block=runner.Rival.block, **extra):
        if rival.cell.adapter == "numpy" and label == "timed":
            frozen.append((ours(host, status="paused"), ours(host, status="running")))
        return block(rival, request, expected, label, **extra)

    monkeypatch.setattr(runner.Rival, "block", watched)
    outcome = project.configure(modes=["train", "infer"]).run("run")
    assert outcome.code == 0, (outcome.err, project.endings())
    assert set(project.endings()) == {"numpy/honest", f"{NAME}/honest"}
    assert [(len(paused), len(awake)) for paused, awake in frozen] == [(1, 0)] * 6
    assert ours(host) == [] and project.workers() == []
    (first, *_) = [event for event in project.events("cell-started") if event["cell"].endswith(f"{NAME}/honest")]
    told = first["environment"]
    assert told["image"].startswith(f"localhost/framework-harness/{NAME}-cpu:") and told["image_id"] and told["engine_version"]
    assert told["python"].startswith("3.6.") and "numpy==1.19.5" in told["packages"]
    ready = [event for event in project.events("ready") if event["cell"].endswith(f"{NAME}/honest")]
    assert {event["python"] for event in ready} == {told["python"]}


def test_what_a_worker_can_do(boxed, places, host):
    environment, (staged, _) = provided(boxed, places), staging.stage(boxed)
    launch = environment.launch(staged, [0], "cpu")
    command = [*launch.command[:-1], "-c", LOOK]  # the worker's own command line, but for what it runs
    done = subprocess.run(command, capture_output=True, text=True, env=launch.variables, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert found["write staged"] == found["write root"] == "Read-only file system" and found["write home"] is None
    assert found["connect"] == "Network is unreachable" and found["interfaces"] == ["lo"]
    assert found["capabilities"] == ["0000000000000000"] and found["privileges"] == ["1"]
    assert found["cpus"] == [0] and found["pinned"]
    assert found["staged"] == ["__main__.py", "harness", "harness_numpy"]
    assert not found["pip.conf"], "pip's configuration was there for the build alone"
    assert {"OMP_NUM_THREADS", "HOME"} <= set(found["variables"]) and not {"HARNESS_CACHE", "PIP_CERT"} & set(found["variables"])
    launch.keeper.end(subprocess.Popen(["true"], stdin=subprocess.PIPE))
    assert ours(host) == []


@pytest.mark.parametrize(
    ("variant", "status", "reason"),
    [
        ("hog", "oom", "the container's memory limit, which is 300m"),
        ("exits", "crashed", "ended with exit code 123"),
        ("raises", "crashed", "RuntimeError: the gizmo is jammed"),
        ("chatty", "ok", ""),
    ],
)
def test_how_a_cell_ends(project, boxed, host, variant, status, reason):
    project.document["containers"]["memory"] = "300m"
    outcome = project.configure(variants={NAME: [variant]}).run("run")
    assert project.endings()["numpy/honest"] == ("ok", "")
    ending = project.endings()[f"{NAME}/{variant}"]
    assert ending[0] == status and reason in ending[1], ending
    assert "chatter" not in outcome.out + outcome.err
    assert ours(host) == []


def test_a_hang_ends_at_its_limit(project, boxed, host, monkeypatch):
    monkeypatch.setitem(runner.LIMITS, "parity", 5.0)
    project.configure(variants={NAME: ["hangs"]}).run("run")
    assert project.endings()[f"{NAME}/hangs"] == ("timeout", "parity took longer than 5 s")
    assert project.endings()["numpy/honest"] == ("ok", "")
    assert ours(host) == []


def halted(project, host, status):
    """Start a run that takes long, and stop it (SIGSTOP) when its container has ``status`` among the timed blocks."""
    project.configure(measure={"warmup_seconds": 0, "warmup_steps": 1, "blocks": 100, "block_seconds": 1, "cell_seconds": 1000})
    process = project.start("run")

    def there():
        events = list(project.folder.glob("runs/*/events.jsonl"))
        if not events or '"timed"' not in events[0].read_text(encoding="utf-8"):
            return False
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # what it has asked the engine for is done by then
        if ours(host, process.pid, status):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    assert wait_until(there, 120), process.kill()
    return process


def test_an_interrupt_leaves_nothing(project, boxed, host):
    process = halted(project, host, "paused")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert ours(host, process.pid) == [] and project.workers() == []


@pytest.mark.parametrize("status", ["paused", "running"])
def test_after_a_kill_the_next_run_finds_nothing(project, boxed, places, host, status):
    """SIGKILL: the client dies with the harness, a container that runs sees the end of its input, a paused one cannot."""
    process = halted(project, host, status)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert wait_until(lambda: not project.workers(), 10), "neither processes nor clients"
    if status == "paused":
        assert len(ours(host, process.pid, "paused")) == 1, "if it went by itself, there would be nothing to reap"
    else:
        assert wait_until(lambda: not ours(host, process.pid), 60), "it saw the end of its input after the block that it was in"
    provided(boxed, places)
    assert ours(host, process.pid) == []


class TestImages:
    def test_found_again_listed_and_removed(self, project, boxed, places, host):
        made = provided(boxed, places)
        start = time.monotonic()
        assert provided(boxed, places) == made
        assert time.monotonic() - start < 20
        name = image.tag(boxed, "cpu").removeprefix(image.PREFIX)
        assert f"{name}  container image, " in project.run("env", "list").out
        assert project.run("env", "remove", name).out == f"removed image {name}\n"
        assert name not in project.run("env", "list").out

    def test_a_build_that_fails(self, boxed, places):
        (boxed.folder / "Containerfile").write_text(f"FROM {BASE}\nRUN echo the gizmo is missing >&2; exit 3\n")
        with pytest.raises(EnvFailed) as failure:
            provided(boxed, places)
        assert failure.value.reason.startswith("the image could not be built: ") and "exit status 3" in failure.value.reason
        assert "the gizmo is missing" in failure.value.log.read_text()

    def test_an_image_of_the_users(self, boxed, places):
        """Nothing is built; it is asked what it has."""
        named = EnvironmentSpec(kind="container", image=provided(boxed, places).fingerprint["image"])
        assert container.provide(boxed, "cpu", named, places.containers).fingerprint["numpy"] == "1.19.5"

    def test_an_image_that_lacks_something(self, boxed, places):
        bare = EnvironmentSpec(kind="container", image=BASE)
        with pytest.raises(EnvFailed, match=f"the image {BASE} lacks numpy and pluggy, which every worker needs"):
            container.provide(boxed, "cpu", bare, places.containers)

    def test_an_image_that_is_not_here(self, boxed, places):
        nowhere = EnvironmentSpec(kind="container", image="localhost/nowhere:1")
        with pytest.raises(EnvFailed, match="the image localhost/nowhere:1 is not on this host"):
            container.provide(boxed, "cpu", nowhere, places.containers)


def test_doctor_tries_it_out(project, boxed, places):
    provided(boxed, places)
    assert " runs a container in " in project.run("doctor").out
