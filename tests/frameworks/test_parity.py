"""Every framework in its real environment computes what the reference computes, on every model in both modes."""

import pytest

from harness import adapters, hostinfo, runner, staging
from harness.core.jobs import Job
from harness.core.models import MODELS
from harness.envs.base import worker_variables
from harness.worker import Worker

pytestmark = pytest.mark.frameworks
SHIPPED = adapters.discover()
EXACT = 1e-9  # of outputs, loss and weights in float64


def job(adapter, model, mode, cpus):
    manifest = adapter.manifest
    fields = {"precision": manifest.precisions[0], "variant": manifest.variants[0], "gates": manifest.gates}
    return Job(
        adapter=adapter.name,
        package=manifest.package,
        model=model,
        mode=mode,
        device="cpu",
        batch=1,
        size=MODELS[model].size,
        cpus=tuple(cpus),
        seed=1,
        build="lowered",
        **fields,
    )


@pytest.mark.parametrize("mode", ["infer", "train"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SHIPPED)
def test_parity(name, model, mode, tmp_path, real_environment):
    adapter = SHIPPED[name]
    cpus = hostinfo.granted_cpus()
    command = real_environment(adapter).command(staging.stage(adapter)[0])
    worker = Worker(command, worker_variables(len(cpus)), tmp_path / "worker.log")
    try:
        worker.ask(job(adapter, model, mode, cpus).to_json(), runner.LIMITS["start"])
        checks = worker.ask({"do": "parity"}, runner.LIMITS["parity"])["checks"]
    finally:
        worker.end()
    errors = {check["what"]: check["error"] for check in checks}
    assert [check for check in checks if not check["passed"]] == []
    sharp = {what: error for what, error in errors.items() if what.startswith("fp64") and "dropout" not in what}
    wanted = {"fp64 outputs"} if mode == "infer" else {"fp64 outputs", "fp64 loss", "fp64 weights after one step"}
    assert wanted <= set(sharp) and any(what.startswith("fp32") for what in errors)
    assert {what: error for what, error in sharp.items() if error > EXACT} == {}
