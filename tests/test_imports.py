"""Which file may import what: the measured side stands alone, adapters know only it, and the command line starts light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT

STDLIB = sys.stdlib_module_names
CORE = sorted((ROOT / "harness" / "core").rglob("*.py"))
HOST = sorted(set((ROOT / "harness").rglob("*.py")) - set(CORE))
ADAPTERS = sorted((ROOT / "adapters").glob("*/harness_*/*.py"))
FRAMEWORKS = {
    "harness_chainer": {"chainer", "cupy"},
    "harness_cntk": {"cntk"},
    "harness_mxnet": {"mxnet"},
    "harness_paddlepaddle": {"paddle"},
    "harness_pytorch": {"torch"},
    "harness_tensorflow": {"tensorflow", "keras"},
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> set[str]:
    """Every module that the file imports, anywhere in it, as a dotted name; ``from a import b`` counts as ``a.b``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}:{node.lineno}: relative imports hide what is imported"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def top(module: str) -> str:
    return module.partition(".")[0]


def test_there_is_something_to_look_at():
    assert len(CORE) > 20 and len(HOST) > 15 and len(ADAPTERS) >= 4


@pytest.mark.parametrize("path", CORE, ids=name)
def test_the_measured_side_stands_alone(path):
    strangers = {m for m in imports(path) if top(m) not in STDLIB | {"numpy", "pluggy"} and not m.startswith("harness.core.")}
    assert not strangers


@pytest.mark.parametrize("path", [*CORE, *ADAPTERS, ROOT / "harness" / "__init__.py"], ids=name)
def test_the_measured_side_parses_on_python_3_6(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("path", HOST, ids=name)
def test_the_host_knows_no_framework_and_no_adapter(path):
    tops = {top(module) for module in imports(path)}
    assert not tops & set().union(*FRAMEWORKS.values()) and not {module for module in tops if module.startswith("harness_")}


@pytest.mark.parametrize("path", ADAPTERS, ids=name)
def test_an_adapter_knows_its_framework_and_the_core(path):
    package = path.parent.name
    allowed = STDLIB | {"numpy", package} | FRAMEWORKS[package]
    strangers = {m for m in imports(path) if top(m) not in allowed and not m.startswith("harness.core.")}
    assert not strangers


@pytest.mark.parametrize("path", HOST, ids=name)
def test_only_the_edge_exits(path):
    assert path.name == "cli.py" or not re.search(r"\b(sys\.exit|os\._exit)\(", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\nfrom harness.cli import main\n"
        f"try: main({arguments!r}, prog_name='harness')\n"
        "except SystemExit: pass\n"
        "print('heavy:', *sorted({'numpy', 'scipy', 'rich', 'pydantic', 'uv', 'psutil'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "heavy:"
