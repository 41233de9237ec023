"""The worker answers every request with one event, whatever an adapter does."""

import inspect
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.core import worker

from . import numpy_adapter, tiny

# A framework that talks, reads and starts talkative children, wherever it gets a chance.
CHATTER = """
import os
import subprocess
import sys


def chatter():
    print('{"event": "block", "seconds": 0}')
    sys.stdout.flush()
    os.write(1, b"garbage\\n")
    subprocess.check_call(["echo", "a child's garbage"])
    assert os.path.samestat(os.fstat(0), os.stat(os.devnull)), "the adapter can read the requests"
    assert sys.stdin.read() == ""


class Talks(NumpyAdapter):
    @hookimpl
    def infer_step(self, session, batch):
        chatter()
        super().infer_step(session, batch)


chatter()
infer_step = Talks().infer_step
"""

# A host that dies while its worker is stopped. Both hold this process's standard output open.
HOST = """
import os
import signal
import subprocess
import sys

job, pid_file = sys.argv[1:]
command = [sys.executable, "-c", "from harness.core.worker import main; main()"]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stdout)
with open(pid_file, "w") as file:
    file.write(str(worker.pid))
worker.stdin.write(job.encode() + b"\\n")
worker.stdin.flush()
assert b"ready" in worker.stdout.readline()
os.kill(worker.pid, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGKILL)
"""

# Ways in which an adapter can fail, as code that replaces ``build_model``, and what the host is told.
FAILURES = {
    "raise RuntimeError('boom')": ("crashed", "RuntimeError: boom"),
    "raise KeyError('conv1')": ("crashed", "KeyError: 'conv1'"),
    "raise Unsupported('conv2d', 'no groups')": ("unsupported", "conv2d: no groups"),
    "raise RuntimeError('CUDA out of memory. Tried')": ("oom", "RuntimeError: CUDA out of memory. Tried"),
    "raise MemoryError()": ("oom", "MemoryError"),
}

pytestmark = pytest.mark.usefixtures("tiny_models")


@pytest.fixture(autouse=True)
def affinity():
    """A worker pins its process; give the test process its CPUs back."""
    cpus = os.sched_getaffinity(0)
    yield cpus
    os.sched_setaffinity(0, cpus)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that makes the numpy adapter, with some code after it, importable under a name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name, code=""):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "adapter.py").write_text(inspect.getsource(numpy_adapter) + code)
        return name

    return make


@pytest.fixture
def job(affinity):
    return tiny.JOB._replace(cpus=(min(affinity),))


def serve(job, *requests):
    """Return the exit code and the events."""
    lines = [job if isinstance(job, str) else json.dumps(job.to_json())]
    lines += [request if isinstance(request, str) else json.dumps(request) for request in requests]
    events = io.StringIO()
    code = worker.serve(io.StringIO("".join(line + "\n" for line in lines)), events)
    return code, [json.loads(line) for line in events.getvalue().splitlines()]


def ask(action, **fields):
    return dict(fields, do=action)


@pytest.mark.parametrize(("precision", "set_to"), [("fp32", "0"), ("bf16", "0"), ("tf32", None)])
def test_tf32_is_forbidden_before_anything_is_imported(package, job, monkeypatch, precision, set_to):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")  # the worker's own process is this one
    name = "arithmetic_" + precision
    code = "\nimport os\nSEEN = os.environ.get('NVIDIA_TF32_OVERRIDE')\n"
    assert serve(job._replace(package=package(name, code), precision=precision))[0] == 0
    seen = sys.modules[name + ".adapter"].SEEN
    assert seen == set_to


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_whole_conversation(package, job, mode):
    job = job._replace(package=package("whole_" + mode), mode=mode)
    code, events = serve(job, ask("parity"), ask("build"), ask("block", steps=3), ask("block", steps=1), ask("finish"))
    assert code == 0
    assert [event["event"] for event in events] == ["ready", "parity", "built", "block", "block", "finished"]
    ready, parity, built, block, _, finished = events

    assert ready["protocol"] == worker.PROTOCOL
    assert ready["python"] == ".".join(str(number) for number in sys.version_info[:3])
    assert ready["import_seconds"] > 0

    precisions = {check["what"].split()[0] for check in parity["checks"]}
    assert precisions == {"fp64", "fp32"}
    assert all(check["passed"] and check["error"] <= check["limit"] for check in parity["checks"])

    whole = tiny.build(9)
    graph = whole if mode == "train" else whole.for_inference()
    assert built["graph"] == graph.fingerprint()
    assert built["first_step_seconds"] > 0
    assert [check["what"] for check in built["checks"]] == ([] if mode == "train" else ["full-size outputs"])
    assert (built["ledger"]["framework"], built["ledger"]["batch"], built["ledger"]["threads"]) == ("numpy", 4, 1)
    assert built["ledger"]["window"].startswith("forward, loss, backward, optimiser" if mode == "train" else "forward; ")

    assert block["steps"] == 3
    assert block["seconds"] > 0
    assert block["cpu_seconds"] >= 0

    assert finished["finite"] is True
    assert finished["peak_rss_bytes"] > 10 * 2**20


def test_requests_and_spans_are_blocks_too(package, job):
    name = package("timed_otherwise")
    _, events = serve(job._replace(package=name), ask("build"), ask("requests", steps=4), ask("span", seconds=0.05), ask("finish"))
    _, _, requests, span, finished = events
    assert requests["event"] == span["event"] == "block"
    assert (requests["steps"], len(requests["latencies"])) == (4, 4) and min(requests["latencies"]) > 0
    assert requests["seconds"] == pytest.approx(sum(requests["latencies"]))
    assert span["steps"] >= 1 and "latencies" not in span
    assert finished["peak_allocated_bytes"] is None


def test_the_peak_of_resident_memory_is_that_since_the_build(package, job):
    code = """
class Hoards(NumpyAdapter):
    @hookimpl
    def build_model(self, graph, weights, request):
        np.ones(300 * 2 ** 17).sum()  # 300 MiB that are let go at once
        return super().build_model(graph, weights, request)


build_model = Hoards().build_model
"""
    _, events = serve(job._replace(package=package("hoards", code)), ask("build"), ask("block", steps=1), ask("finish"))
    assert events[-1]["peak_rss_since_build"] is True
    lines = Path("/proc/self/status").read_text().splitlines()
    now = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    assert events[-1]["peak_rss_bytes"] < now + 100 * 2**20


def test_the_allocator_s_peak_is_the_adapter_s_to_tell(package, job):
    code = """
@hookimpl
def peak_memory(session):
    return 12345
"""
    _, events = serve(job._replace(package=package("counts", code)), ask("build"), ask("finish"))
    assert events[-1]["peak_allocated_bytes"] == 12345


def test_the_process_is_pinned_before_the_adapter_is_imported(package, job):
    name = package("pinned", "\nimport os\n\nSEEN = os.sched_getaffinity(0)\n")
    assert serve(job._replace(package=name))[0] == 0
    seen = sys.modules[name + ".adapter"].SEEN
    assert seen == set(job.cpus)


def test_the_end_of_the_requests_is_the_end_of_the_worker(package, job):
    code, events = serve(job._replace(package=package("abandoned")), ask("build"))
    assert (code, [event["event"] for event in events]) == (0, ["ready", "built"])


def test_nothing_is_answered_after_finish(package, job):
    code, events = serve(job._replace(package=package("finished")), ask("build"), ask("finish"), ask("block", steps=1))
    assert (code, [event["event"] for event in events]) == (0, ["ready", "built", "finished"])


def test_a_block_is_as_many_real_steps_as_asked_for(package, job):
    code = """
class Remembers(NumpyAdapter):
    @hookimpl
    def train_step(self, session, batch):
        super().train_step(session, batch)
        LOSSES.append(session.results["loss"])


LOSSES = []
train_step = Remembers().train_step
"""
    name = package("remembers", code)
    serve(job._replace(package=name, model="plain"), ask("build"), ask("block", steps=40))
    losses = sys.modules[name + ".adapter"].LOSSES
    assert len(losses) == 1 + 40  # the first one is the build's
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_values_that_are_not_finite_are_reported_at_the_end(package, job):
    code = """
class Diverges(NumpyAdapter):
    @hookimpl
    def read_results(self, session):
        results = super().read_results(session)
        return dict(results, outputs={name: array * np.inf for name, array in results["outputs"].items()})


read_results = Diverges().read_results
"""
    _, events = serve(job._replace(package=package("diverges", code), mode="infer"), ask("build"), ask("finish"))
    (check,) = events[1]["checks"]
    assert (check["error"], check["passed"]) == (None, False)  # JSON has no infinity
    assert events[2]["finite"] is False


@pytest.mark.parametrize("failure", sorted(FAILURES))
def test_a_raising_adapter_gives_one_failed_event(package, job, failure, capsys):
    code = f"\n\n@hookimpl\ndef build_model(graph, weights, request):\n    {failure}\n"
    name = package(f"fails_{sorted(FAILURES).index(failure)}", code)
    code, events = serve(job._replace(package=name), ask("build"), ask("block", steps=1))
    status, reason = FAILURES[failure]
    assert code == 1
    assert events[0]["event"] == "ready"
    assert events[1:] == [{"event": "failed", "status": status, "reason": reason}]
    assert "Traceback" in capsys.readouterr().err  # for the log


def test_a_broken_promise_fails_parity(package, job):
    code = """
class Halves(NumpyAdapter):
    @hookimpl
    def describe(self, session):
        return dict(super().describe(session), batch=2)


describe = Halves().describe
"""
    name = package("halves", code)
    for request in (ask("parity"), ask("build")):
        code, events = serve(job._replace(package=name), request)
        assert code == 1
        assert events[1] == {
            "event": "failed",
            "status": "parity-failed",
            "reason": "adapter 'numpy' was asked for batch 4 and reports 2",
        }


def test_an_adapter_that_calls_exit_is_reported(package, job):
    code = """
def build_model(graph, weights, request):
    sys.exit(3)


build_model = hookimpl(build_model)
"""
    result, events = serve(job._replace(package=package("exits", "\nimport sys\n" + code)), ask("parity"))
    assert (result, events[-1]) == (1, {"event": "failed", "status": "crashed", "reason": "SystemExit: 3"})


def test_an_adapter_without_a_hook_is_never_ready(package, job):
    code, events = serve(job._replace(package=package("hookless", "\ndel sync_device\n")))
    assert code == 1
    assert [(event["event"], event["status"]) for event in events] == [("failed", "parity-failed")]
    assert "adapter 'numpy' has no hook 'sync_device'" in events[0]["reason"]


def test_an_adapter_that_cannot_be_imported_is_never_ready(job):
    code, events = serve(job._replace(package="no_such_package"))
    assert (code, events[0]["event"], events[0]["status"]) == (1, "failed", "env-failed")
    assert "no_such_package" in events[0]["reason"]


def test_an_unknown_request_fails(package, job):
    code, events = serve(job._replace(package=package("unknown")), ask("dance"), ask("build"))
    assert code == 1
    assert events[1:] == [{"event": "failed", "status": "crashed", "reason": "ValueError: unknown request 'dance'"}]


@pytest.mark.parametrize("private", ["__init__", "job", "hooks"])
def test_what_is_no_request_cannot_be_called(package, job, private):
    code, events = serve(job._replace(package=package("private" + private)), ask(private))
    assert (code, events[1]["reason"]) == (1, f"ValueError: unknown request '{private}'")


@pytest.mark.parametrize("document", ["", "{", "[]", "null", '{"version": 1}'])
def test_a_document_that_is_no_job_fails(document):
    code, events = serve(document)
    assert (code, [(event["event"], event["status"]) for event in events]) == (1, [("failed", "crashed")])


def test_a_job_for_an_unknown_model_fails_by_name(job):
    _, events = serve(job._replace(model="resnet5o"))
    assert events[0]["reason"].startswith("job.model is 'resnet5o': it must be")


def test_a_garbled_request_fails(package, job):
    code, events = serve(job._replace(package=package("garbled")), "{")
    assert (code, [event["event"] for event in events]) == (1, ["ready", "failed"])


def variables(folder):
    root = Path(harness.__file__).parent.parent
    return dict(os.environ, PYTHONPATH=os.pathsep.join([str(root), str(folder)]))


def start(job, requests, folder):
    """Run a real worker process; return its exit code, its events and its log."""
    lines = [json.dumps(job.to_json())] + [json.dumps(request) for request in requests]
    command = [sys.executable, "-c", "from harness.core.worker import main; main()"]
    with (folder / "log").open("wb") as log:
        ended = subprocess.run(
            command, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, stderr=log, env=variables(folder), encoding="utf-8", timeout=60
        )
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], (folder / "log").read_text()


def test_whatever_a_framework_prints_the_protocol_stays_clean(package, job, tmp_path):
    job = job._replace(package=package("talks", CHATTER), model="mobilenet", mode="infer", size=32, batch=1)
    code, events, log = start(job, [ask("build"), ask("block", steps=2), ask("finish")], tmp_path)
    assert (code, [event["event"] for event in events]) == (0, ["ready", "built", "block", "finished"])
    assert events[2]["seconds"] > 0
    assert log.count("a child's garbage") == log.count("garbage\n") / 2 == 4  # import, first step and a block of two
    assert log.count('{"event": "block", "seconds": 0}') == 4


def test_a_failure_ends_a_real_process_with_an_event_and_a_log(package, job, tmp_path):
    code = "\n\n@hookimpl\ndef build_model(graph, weights, request):\n    raise RuntimeError('boom')\n"
    job = job._replace(package=package("explodes", code), model="mobilenet", size=32)
    code, events, log = start(job, [ask("build")], tmp_path)
    assert code == 1
    assert events[1:] == [{"event": "failed", "status": "crashed", "reason": "RuntimeError: boom"}]
    assert "Traceback" in log


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a process of its parent's death")
def test_a_stopped_worker_dies_with_its_host(package, job, tmp_path):
    job = job._replace(package=package("orphan"), model="mobilenet")
    pid_file = tmp_path / "pid"
    arguments = [sys.executable, "-c", HOST, json.dumps(job.to_json()), str(pid_file)]
    host = subprocess.Popen(arguments, stdout=subprocess.PIPE, env=variables(tmp_path))
    try:
        host.communicate(timeout=30)  # ends when nobody holds the pipe any more
    except subprocess.TimeoutExpired:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        raise
    assert host.returncode == -signal.SIGKILL
