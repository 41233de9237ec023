"""What else happens on the host. NVML is faked: no machine that runs these tests is sure to have a GPU."""

import multiprocessing
import time
from types import SimpleNamespace

import psutil
import pynvml
import pytest

from harness import hostinfo, noise

GPUS = [f"GPU-{start}-8a4b-1c3d-9e7f-0123456789ab" for start in ("aa111111", "bb222222")]
QUIET = {"cpus": [0, 1], "load_average": 0.1, "governor": "performance", "cpu_quota": None}


@pytest.fixture(autouse=True)
def no_swap_and_no_turbo(monkeypatch):
    monkeypatch.setattr(psutil, "swap_memory", lambda: SimpleNamespace(used=0))
    monkeypatch.setattr(noise, "turbo", lambda: None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"load_average": 1.5}, "the load average is 1.5"),
        ({"governor": "powersave"}, "the frequency governor is 'powersave'"),
        ({"cpu_quota": 1.5}, "2 CPUs are visible, but the control group grants the time of 1.5"),
    ],
)
def test_what_makes_numbers_noisy_is_told_before_a_run(changed, said):
    assert noise.warnings(QUIET) == []
    (found,) = noise.warnings({**QUIET, **changed})
    assert found.startswith(said)


def test_swap_and_turbo_are_told(monkeypatch):
    monkeypatch.setattr(psutil, "swap_memory", lambda: SimpleNamespace(used=3 * 2**30))
    monkeypatch.setattr(noise, "turbo", lambda: True)
    turbo, swap = noise.warnings(QUIET)
    assert turbo.startswith("turbo is on") and swap.startswith("3.0 GiB are in swap")


def burn():
    while True:
        pass


def test_other_work_during_a_block_is_counted():
    def others(seconds):
        cpu = time.process_time()
        with noise.watch() as seen:
            time.sleep(seconds)
        return seen.besides(time.process_time() - cpu)["others"]

    quiet = others(0.5)
    rival = multiprocessing.get_context("spawn").Process(target=burn)
    rival.start()
    try:
        time.sleep(1)  # until it runs
        assert others(1.0) > min(0.5, quiet + 0.3)
    finally:
        rival.kill()
        rival.join()


class FakeNvml:
    """Answers as the library does: by index of all devices, whatever CUDA_VISIBLE_DEVICES says; and cannot tell some things."""

    def __init__(self, reasons=0, processes=1, lacks=()):
        self.reasons, self.processes, self.lacks, self.asked = reasons, processes, lacks, []

    def install(self, monkeypatch):
        answers = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetHandleByIndex": lambda index: self.asked.append(index) or index,
            "nvmlDeviceGetTemperature": lambda handle, sensor: 71,
            "nvmlDeviceGetClockInfo": lambda handle, clock: 1410,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: self.reasons,
            "nvmlDeviceGetComputeRunningProcesses": lambda handle: [object()] * self.processes,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, self.cannot if name in self.lacks else answer)
        return self

    def cannot(self, *arguments):
        raise pynvml.NVMLError_NotSupported()


def test_a_gpu_tells_heat_clock_throttling_and_company(monkeypatch):
    FakeNvml(reasons=0x4 | 0x40 | 0x1, processes=2).install(monkeypatch)  # 0x1 is idle, which is no throttling
    with noise.watch("cuda:1") as seen:
        pass
    found = seen.besides(0.0)
    assert {name: found[name] for name in found if name != "others"} == {
        "gpu_celsius": 71,
        "gpu_mhz": 1410,
        "gpu_throttled": ["power cap", "hardware thermal slowdown"],
        "gpu_processes": 2,
    }


def test_what_nvml_cannot_tell_is_left_out(monkeypatch):
    FakeNvml(lacks=("nvmlDeviceGetCurrentClocksThrottleReasons",)).install(monkeypatch)
    assert noise.gpu_state(0) == {"gpu_celsius": 71, "gpu_mhz": 1410}
    FakeNvml(lacks=("nvmlInit",)).install(monkeypatch)
    assert noise.gpu_state(0) == {}


@pytest.mark.parametrize(
    ("visible", "device", "index"),
    [
        *[("", "cuda", 0), ("", "cuda:1", 1), ("3,1", "cuda", 3), ("3,1", "cuda:1", 1), ("GPU-bb", "cuda", 1), ("GPU-none", "cuda", 0)],
        *[("", GPUS[1], 1), ("0", GPUS[1], 1), (GPUS[0], GPUS[0], 0)],
    ],
)
def test_cuda_counts_visible_devices_and_nvml_all(monkeypatch, visible, device, index):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(hostinfo, "gpus", lambda: [{"index": index, "uuid": uuid} for index, uuid in enumerate(GPUS)])
    assert hostinfo.gpu_index(device) == index
    fake = FakeNvml().install(monkeypatch)
    with noise.watch(device):
        pass
    assert fake.asked == [index]
