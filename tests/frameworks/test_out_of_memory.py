"""Where memory runs out, a cell says so: real frameworks under a limit that their network does not fit."""

import pytest

from harness import adapters, hostinfo, rival, staging
from harness.matrix import Cell
from harness.worker import Worker, WorkerFailed

pytestmark = pytest.mark.frameworks
SHIPPED = adapters.discover()
LIMIT = 3 * 2**30  # bytes: enough to load any framework, and a fifth of what the network takes
# CNTK has its container's limit, which tests/containers shows at work.
NAMES = [name for name, adapter in SHIPPED.items() if adapter.containerfile("cpu") is None]


@pytest.mark.parametrize("name", NAMES)
def test_a_network_that_does_not_fit_ends_as_oom(name, tmp_path, real_environment):
    adapter, cpus = SHIPPED[name], hostinfo.granted_cpus()
    cell = Cell(
        adapter=name, model="vgg19", mode="train", device="cpu", precision="fp32", variant=adapter.manifest.variants[0], batch=128, size=224
    )
    environment = real_environment(adapter).model_copy(update={"memory": LIMIT})
    worker = Worker(environment.launch(staging.stage(adapter)[0], cpus, "cpu"), tmp_path / "worker.log")
    try:
        worker.ask(rival.job_of(cell, adapter, cpus, 1).to_json(), rival.LIMITS["start"])
        with pytest.raises(WorkerFailed) as failure:
            for request in ({"do": "build"}, {"do": "block", "steps": 1}):  # some allocate when they first run
                worker.ask(request, 300.0)
    finally:
        worker.end()
    assert str(failure.value.status) == "oom", failure.value.reason
