"""scripts/gpu-check without a GPU: that it says so, and what its checks make of numbers."""

import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest
from helpers import ROOT, Recorder

from harness import adapters

SCRIPT = ROOT / "scripts" / "gpu-check"
GIB = 2**30


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_without_a_gpu_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--device", "cuda:99", "--out", "x.md"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("no NVIDIA GPU here: ") and not (tmp_path / "x.md").exists()


@pytest.mark.parametrize(
    ("device", "allocated", "passed"), [(3 * GIB, 2 * GIB, True), (GIB, 2 * GIB, False), (None, GIB, False), (GIB, None, False)]
)
def test_nvml_must_tell_at_least_what_the_allocator_does(script, device, allocated, passed):
    verdict = script["of_memory"]([("good", 2 * GIB, GIB), ("this", device, allocated)])
    assert verdict.passed is passed and ("this" in verdict.told) is not passed and "good" not in verdict.told


def test_nothing_measured_is_no_verdict(script):
    assert script["of_memory"]([]).passed is None


@pytest.mark.parametrize(("events", "passed"), [(0.398, True), (0.35, False), (0.45, False)])
def test_clocks_must_agree(script, events, passed):
    good = {"steps": 10, "host": 0.4, "events": 0.4}
    assert script["of_clocks"]([good, {**good, "events": events}]).passed is passed


def test_a_cell_that_was_not_reached_is_neither_passed_nor_failed(script):
    recorder = Recorder()
    recorder.ended(recorder.plan("alpha"), "crashed", "boom")
    recorder.plan("beta")
    found = [verdict.passed for verdict in script["of_cells"]("latency", recorder.load())]
    assert found == [False, None]


def test_the_report_names_the_machine_and_shows_both_memories_and_both_clocks(script, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    recorder = Recorder()
    cell = recorder.plan("alpha", device="cuda")
    recorder.journal.write("device-memory", cell=cell.key, process=0, baseline=GIB, peak=4 * GIB, samples=9, interval=0.01)
    recorder.measured(cell, [1.0, 1.01, 0.99])
    gpus = [{"index": index, "name": name, "memory_bytes": 8 * GIB, "driver": "999.1"} for index, name in enumerate(("Small", "Large"))]
    environment = SimpleNamespace(fingerprint={"python": "3.11.9"})
    adapter = adapters.discover()["pytorch"]
    check = SimpleNamespace(
        device="cuda:1", gpus=gpus, cpus=[0], start=0.0, adapter=adapter, environment=environment, torch_version=lambda: "2.13.0"
    )
    verdicts = [script["Verdict"]("one", True, "fine"), script["Verdict"]("two", False, "a | b"), script["Verdict"]("three", None, "time")]
    clocks = [{"steps": 10, "host": 0.4, "events": 0.398}]
    text = script["report"](check, verdicts, {"inference": recorder.load()}, clocks)
    assert text.startswith("# GPU check: 3 checks, 1 failed, 1 not reached")
    assert "- GPU: Large, 8 GiB, driver 999.1" in text and "Small" not in text
    assert "pins torch==2.13.0\n" in text and "| two | **failed** | a / b |" in text and "| three | not reached | time |" in text
    assert "| inference, mobilenet, fp32, batch 2 | 3,072 | not counted | not counted |" in text
    assert "| 10 | 400.00 | 398.00 | 1.0050 |" in text and "### Inference, fp32, cuda" in text
