"""Device memory by NVML. The library is faked, since no machine that runs these tests is sure to have a GPU; the fake behaves as the
real one where that bites: it counts every device whatever CUDA sees, what the driver reserves is in the old figure and not in the
new, and process numbers are those of another namespace."""

import threading
import time
from types import SimpleNamespace

import pynvml
import pytest

from harness import hostinfo, memory

GIB = 2**30
RESERVED = GIB // 2
UUIDS = [f"GPU-{start}-8a4b-1c3d-9e7f-0123456789ab" for start in ("aa111111", "bb222222", "cc333333")]


class FakeNvml:
    """Devices whose memory in use is set by the test. ``old``: a driver without the second version of the memory figures."""

    def __init__(self, monkeypatch, used, old=False, absent=False):
        self.used, self.old, self.opened = list(used), old, 0
        self.threads = set()
        answers = {
            "nvmlInit": self.init if not absent else self.cannot,
            "nvmlShutdown": self.shutdown,
            "nvmlDeviceGetHandleByIndex": self.handle,
            "nvmlDeviceGetMemoryInfo": self.memory,
            # Inside a container these are numbers of the host's processes: nothing may depend on them.
            "nvmlDeviceGetComputeRunningProcesses": self.cannot,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, answer)

    def init(self):
        self.opened += 1

    def shutdown(self):
        self.opened -= 1

    def handle(self, index):
        assert self.opened
        return index

    def memory(self, index, version=None):
        assert self.opened, "asked after the library was closed"
        self.threads.add(threading.get_ident())
        if version == pynvml.nvmlMemory_v2 and self.old:
            raise pynvml.NVMLError_FunctionNotFound()
        return SimpleNamespace(used=self.used[index] + (0 if version else RESERVED))

    def cannot(self, *arguments):
        raise pynvml.NVMLError_NotSupported()


def watched(fake, device, *steps):
    """Set the memory in use of ``device`` to each of ``steps`` for a while, and return what was seen."""
    index = hostinfo.gpu_index(device)
    with memory.watch(device, interval=0.001) as seen:
        for used in steps:
            fake.used[index] = used
            time.sleep(0.05)
    assert fake.opened == 0
    return seen.found


@pytest.mark.parametrize("old", [False, True])
def test_the_peak_is_held_against_what_was_in_use_before(monkeypatch, old):
    """Four GiB of somebody else's are no concern of the cell; a peak between start and end is seen."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    fake = FakeNvml(monkeypatch, [4 * GIB], old)
    found = watched(fake, "cuda", 5 * GIB, 7 * GIB, 6 * GIB)
    assert found["peak"] - found["baseline"] == 3 * GIB  # with either figure, since what is reserved is in both
    assert found["samples"] > 20 and found["interval"] == 0.001
    assert len(fake.threads) == 2


@pytest.mark.parametrize(
    ("visible", "device", "index"),
    [("", "cuda:1", 1), ("2,0", "cuda", 2), ("2,0", "cuda:1", 0), ("GPU-bb", "cuda", 1), ("2,0", UUIDS[1], 1)],
)
def test_the_device_is_the_one_that_cuda_means(monkeypatch, visible, device, index):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpus = [{"index": number, "uuid": uuid} for number, uuid in enumerate(UUIDS)]
    monkeypatch.setattr(hostinfo, "gpus", lambda: gpus)
    fake = FakeNvml(monkeypatch, [GIB, GIB, GIB])
    found = watched(fake, device, 2 * GIB)
    assert (found["baseline"], found["peak"]) == (GIB, 2 * GIB) and fake.used[index] == 2 * GIB


def test_without_a_driver_and_on_a_cpu_nothing_is_said(monkeypatch):
    fake = FakeNvml(monkeypatch, [GIB], absent=True)
    assert watched(fake, "cuda", GIB) == {}
    with memory.watch("cpu") as seen:
        pass
    assert seen.found == {} and not fake.threads


def test_a_failure_inside_ends_the_sampling(monkeypatch):
    fake = FakeNvml(monkeypatch, [GIB])
    with pytest.raises(RuntimeError), memory.watch("cuda", interval=0.001):
        raise RuntimeError("the cell failed")
    assert fake.opened == 0 and threading.active_count() == 1
