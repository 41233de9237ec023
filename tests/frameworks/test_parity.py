"""Every framework in its real environment computes what the reference computes, on every model in both modes."""

import json
import subprocess

import pytest

from harness import adapters, hostinfo, rival, staging
from harness.core.models import MODELS
from harness.matrix import Cell
from harness.worker import Worker

pytestmark = pytest.mark.frameworks
SHIPPED = adapters.discover()
PAIRS = [(name, mode) for name, model in MODELS.items() for mode in ("infer", "train") if mode == "train" or not model.generates]
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


@pytest.mark.parametrize(("model", "mode"), PAIRS)
@pytest.mark.parametrize("name", SHIPPED)
def test_parity(name, model, mode, tmp_path, real_environment):
    checks = prove(name, model, mode, "lowered", tmp_path / "worker.log", real_environment)
    errors = {check["what"]: check["error"] for check in checks}
    assert [check for check in checks if not check["passed"]] == []
    sharp = {what: error for what, error in errors.items() if what.startswith("fp64") and "dropout" not in what}
    wanted = {"fp64 outputs"} if mode == "infer" else {"fp64 outputs", "fp64 loss", "fp64 weights after one step"}
    assert wanted <= set(sharp) and any(what.startswith("fp32") for what in errors)
    assert {what: error for what, error in sharp.items() if error > EXACT} == {}


LOSSES = """
import json, sys
from harness.core import data, images, plugin
from harness.core.hookspecs import BuildRequest
from harness.core.models import MODELS, style

package, variant, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
hooks = plugin.load(package, package)
graph = MODELS["style-vgg"].build(64)
weights = data.weights(graph, 1)
batch = style.targets(graph, weights, {kind: images.centred(image) for kind, image in images.made(64).items()})
session = hooks.build_model(graph, weights, BuildRequest("train", "cpu", "fp32", variant, 1, threads, MODELS["style-vgg"].optimizer))
staged, losses = hooks.stage_batch(session, batch), []
for _ in range(10):
    hooks.train_step(session, staged)
    hooks.sync_device(session)
    losses.append(hooks.read_results(session)["loss"])
json.dump(losses, open(sys.argv[4], "w"))
"""


def ten_losses(name, tmp_path, real_environment):
    """The losses of the first ten iterations of image generation, in a process of the framework's environment."""
    adapter, cpus = SHIPPED[name], hostinfo.granted_cpus()
    environment = real_environment(adapter)
    place = tmp_path / f"{name}.json"
    launch = environment.launch(staging.stage(adapter)[0], cpus, "cpu")
    staged = str(staging.stage(adapter)[0])
    code = f"import sys; sys.path.insert(0, {staged!r})\n" + LOSSES
    arguments = [adapter.manifest.package, adapter.manifest.variants[0], str(len(cpus)), str(place)]
    subprocess.run([str(environment.python), "-E", "-s", "-B", "-c", code, *arguments], env=launch.variables, check=True, timeout=300)
    return json.loads(place.read_text())


def test_images_are_generated_alike(tmp_path, real_environment):
    """From the same start, the losses of ten iterations fall, and PyTorch's are Chainer's."""
    pytorch, chainer = (ten_losses(name, tmp_path, real_environment) for name in ("pytorch", "chainer"))
    assert pytorch == pytest.approx(chainer, rel=1e-3)
    assert pytorch[-1] < 0.9 * pytorch[0]
