"""Every framework in its real environment computes what the reference computes, on every model in both modes."""

import pytest

from harness import adapters, hostinfo, rival, staging
from harness.core.models import MODELS
from harness.matrix import Cell
from harness.worker import Worker

pytestmark = pytest.mark.frameworks
SHIPPED = adapters.discover()
EXACT = 1e-9  # of outputs, loss and weights in float64


def prove(name, model, mode, build, log, environment):
    """Return the checks of the parity gate, from a real worker."""
    adapter, cpus = SHIPPED[name], hostinfo.granted_cpus()
    manifest = adapter.manifest
    fields = {"device": "cpu", "precision": manifest.precisions[0], "variant": manifest.variants[0], "batch": 1, "size": MODELS[model].size}
    job = rival.job_of(Cell(adapter=name, model=model, mode=mode, **fields), adapter, cpus, 1, build)
    worker = Worker(environment(adapter).launch(staging.stage(adapter)[0], cpus, "cpu"), log)
    try:
        worker.ask(job.to_json(), rival.LIMITS["start"])
        return worker.ask({"do": "parity"}, rival.LIMITS["parity"])["checks"]
    finally:
        worker.end()


@pytest.mark.parametrize("mode", ["infer", "train"])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_native_twin_is_the_same_network(name, mode, tmp_path, real_environment):
    checks = prove(name, "resnet50", mode, "native", tmp_path / "worker.log", real_environment)
    assert checks and [check for check in checks if not check["passed"]] == []


@pytest.mark.parametrize("mode", ["infer", "train"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SHIPPED)
def test_parity(name, model, mode, tmp_path, real_environment):
    checks = prove(name, model, mode, "lowered", tmp_path / "worker.log", real_environment)
    errors = {check["what"]: check["error"] for check in checks}
    assert [check for check in checks if not check["passed"]] == []
    sharp = {what: error for what, error in errors.items() if what.startswith("fp64") and "dropout" not in what}
    wanted = {"fp64 outputs"} if mode == "infer" else {"fp64 outputs", "fp64 loss", "fp64 weights after one step"}
    assert wanted <= set(sharp) and any(what.startswith("fp32") for what in errors)
    assert {what: error for what, error in sharp.items() if error > EXACT} == {}
