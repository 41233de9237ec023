"""How a device may be called, and what a worker is told of one that is named by UUID."""

import msgspec
import pytest
from helpers import CELL, NUMPY, Recorder

from harness import adapters, devices, rival
from harness.envs.process import worker_variables
from harness.matrix import Cell
from harness.report.tables import device_line

UUID = "GPU-2fd2c5c5-8a4b-1c3d-9e7f-0123456789ab"
OTHER = "GPU-00000000-8a4b-1c3d-9e7f-0123456789ab"


def job(device, **changes):
    adapter = adapters.load(NUMPY)
    return rival.job_of(Cell(**{**CELL, "adapter": "numpy", "variant": "honest", "device": device, **changes}), adapter, [0], 1)


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:12", UUID])
def test_names(name):
    assert devices.is_device(name)


@pytest.mark.parametrize(
    "name", ["", "gpu", "cpu:0", "cuda:", "cuda:01", "cuda:-1", "CUDA", UUID[:-1], UUID + "0", "GPU-2fd2c5c5", f"{UUID},{OTHER}"]
)
def test_no_names(name):
    assert not devices.is_device(name)


def test_a_worker_sees_the_gpu_that_a_uuid_names_and_no_other(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert job(UUID).device == "cuda" and worker_variables(1, UUID)["CUDA_VISIBLE_DEVICES"] == UUID
    for device in ("cpu", "cuda", "cuda:1"):
        assert job(device).device == device and worker_variables(1, device)["CUDA_VISIBLE_DEVICES"] == "3,1"


def test_a_uuid_is_a_kind_of_cuda_device_and_cells_on_two_gpus_differ():
    one, other = (Cell(**{**CELL, "adapter": "numpy", "variant": "honest", "device": device}) for device in (UUID, OTHER))
    assert one.device_kind == other.device_kind == "cuda"
    assert one.key != other.key and one.group != other.group and one.proof != other.proof


def test_float32_is_no_gate_where_tf32_is_on():
    assert rival.gates(("fp64", "fp32"), "tf32") == ("fp64",) and rival.gates(("fp32",), "tf32") == ("fp32",)
    assert all(rival.gates(("fp64", "fp32"), precision) == ("fp64", "fp32") for precision in ("fp32", "fp16", "bf16"))
    assert job("cuda", precision="tf32").gates == ("fp64",)


def test_tables_say_which_gpu_it_is():
    gpus = [{"index": 0, "name": "Small", "uuid": OTHER}, {"index": 1, "name": "Large", "uuid": UUID}]
    recorder = Recorder()
    recorder.ended(recorder.plan("alpha", device=UUID), "unsupported", "x")
    run = msgspec.structs.replace(recorder.load(), host={"cpu": "Test CPU", "gpus": gpus})
    named = {device: device_line(run, device, list(run.cells)).partition(";")[0] for device in ("cpu", "cuda", "cuda:1", UUID, "cuda:2")}
    assert named == {"cpu": "Test CPU", "cuda": "Small", "cuda:1": "Large", UUID: "Large", "cuda:2": "cuda:2"}
