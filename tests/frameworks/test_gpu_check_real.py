"""scripts/gpu-check on the CPU: everything but the GPU's own clock and memory, in PyTorch's real environment."""

import runpy
import sys

import pytest
from helpers import ROOT

from harness import adapters

pytestmark = pytest.mark.frameworks


def test_the_same_path_on_a_cpu(tmp_path, monkeypatch, capsys, real_environment):
    python = str(real_environment(adapters.discover()["pytorch"]).python)
    out = tmp_path / "gpu-check.md"
    monkeypatch.setattr(sys, "argv", ["gpu-check", "--device", "cpu", "--python", python, "--out", str(out)])
    assert runpy.run_path(str(ROOT / "scripts" / "gpu-check"))["main"]() == 0
    text = out.read_text()
    assert "8 checks, 0 failed, 0 not reached" in text
    for line in ("parity, resnet18, infer, bf16", "inference, resnet18, fp32, batch 2", "latency, resnet18, bf16, batch 1"):
        assert f"| {line} | passed |" in text
    assert "### Inference, bf16, cpu" in text and "### Latency, ResNet-18, 64 px, inference, fp32, cpu" in text
    assert "NVML" not in text and "events" not in text


def test_what_there_is_no_time_for_is_listed(tmp_path, monkeypatch, real_environment):
    python = str(real_environment(adapters.discover()["pytorch"]).python)
    out = tmp_path / "gpu-check.md"
    monkeypatch.setattr(sys, "argv", ["gpu-check", "--device", "cpu", "--python", python, "--out", str(out), "--seconds", "0"])
    assert runpy.run_path(str(ROOT / "scripts" / "gpu-check"))["main"]() == 0
    assert "8 checks, 0 failed, 6 not reached" in out.read_text()
