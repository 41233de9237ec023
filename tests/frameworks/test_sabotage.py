"""A real framework with one wrong layer is found out; the right one beside it is measured."""

import re
import shutil

import pytest
from helpers import ROOT

from harness import adapters

pytestmark = pytest.mark.frameworks

# A line of adapters/pytorch/harness_pytorch/lower.py, and what it is replaced by.
SABOTAGE = {
    "epsilon": ('eps=node.attrs["epsilon"]', 'eps=100 * node.attrs["epsilon"]'),
    "no relu": ("return nn.ReLU(inplace=overwrite)", "return nn.Identity()"),
    "running statistics": ('momentum=node.attrs["momentum"]', 'momentum=0.9 * node.attrs["momentum"]'),
}


@pytest.mark.parametrize("layer", SABOTAGE)
def test_a_wrong_layer_is_not_ranked(layer, project, real_environment):
    folder = project.folder / "pytorch-sabotaged"
    shutil.copytree(ROOT / "adapters" / "pytorch", folder)
    manifest = folder / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('name = "pytorch"', 'name = "pytorch-sabotaged"').replace('"PyTorch"', '"Sabotaged"'))
    lower = folder / "harness_pytorch" / "lower.py"
    right, wrong = SABOTAGE[layer]
    assert lower.read_text().count(right) == 1
    lower.write_text(lower.read_text().replace(right, wrong))

    python = str(real_environment(adapters.discover()["pytorch"]).python)
    project.document["environments"] = {name: {"kind": "interpreter", "python": python} for name in ("pytorch", "pytorch-sabotaged")}
    project.document["adapter_paths"] = [str(folder)]
    outcome = project.configure(adapters=["pytorch", "pytorch-sabotaged"], models=["resnet18"], modes=["train"], batch=4, size=64).run(
        "run"
    )

    endings = project.endings()
    assert outcome.code == 1 and endings["pytorch/eager"] == ("ok", "")
    status, reason = endings["pytorch-sabotaged/eager"]
    assert status == "parity-failed" and reason.startswith("fp64 ") and "relative error" in reason
    rates = (project.result().folder / "tables.md").read_text().partition("ratios to")[0]
    rows = {line.split("|")[1].strip(): line for line in rates.splitlines() if line[:1] == "|"}
    assert "±" in rows["PyTorch"] and "±" not in rows["Sabotaged"] and re.search(r"parity-failed \[\d\]", rows["Sabotaged"])
