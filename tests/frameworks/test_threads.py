"""Every framework uses the cores that it was granted, all of them and no others: CPU seconds over wall seconds."""

import pytest

from harness import adapters, hostinfo, rival, staging
from harness.matrix import Cell
from harness.worker import Worker

pytestmark = pytest.mark.frameworks
SHIPPED = adapters.discover()
TRIES = 5  # the best block counts: other work on this host only takes cores away


def cores_used(name, cpus, log, environment):
    """CPU seconds over wall seconds of a real worker's best block, and the threads that it reports."""
    adapter = SHIPPED[name]
    manifest = adapter.manifest
    fields = {"device": "cpu", "precision": "fp32", "variant": manifest.variants[0], "batch": 4, "size": 224}
    job = rival.job_of(Cell(adapter=name, model="resnet18", mode="infer", **fields), adapter, cpus, 1)
    worker = Worker(environment(adapter).launch(staging.stage(adapter)[0], cpus, "cpu"), log)
    try:
        worker.ask(job.to_json(), rival.LIMITS["start"])
        ledger = worker.ask({"do": "build"}, rival.LIMITS["build"])["ledger"]
        blocks = [worker.ask({"do": "block", "steps": 1}, 120.0) for _ in range(TRIES)]
        return max(block["cpu_seconds"] / block["seconds"] for block in blocks), ledger["threads"]
    finally:
        worker.end()


@pytest.mark.parametrize("granted", [1, 2])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_cores_granted_are_the_cores_used(name, granted, tmp_path, real_environment):
    cpus = hostinfo.granted_cpus()[:granted]
    if len(cpus) < granted:
        pytest.skip("this host grants one core only")
    used, reported = cores_used(name, cpus, tmp_path / "worker.log", real_environment)
    assert reported == granted
    assert used <= 1.05 * granted
    assert used > (0.6 if granted == 1 else 1.1)  # where others take cores, no more can be had
