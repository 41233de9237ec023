"""The wheel: what a checkout has beside the package, an installed one has inside."""

import subprocess
import sys
import zipfile

import numpy
import pytest
from helpers import ROOT


def uv(*arguments, cwd=None):
    command = [sys.executable, "-m", "uv", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment with the wheel in it; its dependencies are those of the tests' own."""
    home = tmp_path_factory.mktemp("elsewhere") / "venv"
    uv("venv", "--quiet", "--python", sys.executable, home)
    uv("pip", "install", "--quiet", "--no-deps", "--no-index", "--python", home / "bin" / "python", wheel)
    (site,) = home.glob("lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(f"import site; sys.path.append({str(numpy.__path__[0].rpartition('/')[0])!r})\n")
    return home / "bin" / "harness"


def run(command, folder, *arguments):
    return subprocess.run([str(command), *arguments], capture_output=True, text=True, cwd=folder, timeout=120, check=False)


def test_what_is_inside(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"harness/cli.py", "harness/core/worker.py", "harness/report/page.html.jinja", "harness/shipped/benchmarks.toml"} <= names
    for path in (ROOT / "adapters").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert f"harness/shipped/{path.relative_to(ROOT)}" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_it_lists_what_ships(installed, tmp_path):
    done = run(installed, tmp_path, "list")
    assert done.returncode == 0, done.stderr
    for folder in (ROOT / "adapters").glob("*/manifest.toml"):
        assert f"\n  {folder.parent.name} " in done.stdout
    assert f"Suites of {installed.parent.parent}/lib/" in done.stdout and "quick " in done.stdout


def test_the_gold_tables_are_inside(installed, tmp_path):
    done = run(installed, tmp_path, "gold", "show", "pytorch-paper", "--format", "csv")
    assert done.returncode == 0, done.stderr
    (tmp_path / "itself.csv").write_text(done.stdout, encoding="utf-8")
    done = run(installed, tmp_path, "score", "itself.csv", "--format", "markdown")
    assert done.returncode == 0 and "| gold has a number | 25 | 0 |" in done.stdout, done.stderr


def test_it_plans_from_another_folder(installed, tmp_path):
    done = run(installed, tmp_path, "run", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "cells of suite 'quick'" in done.stdout and "resnet50/train/cpu/fp32/b4/s224/pytorch/eager" in done.stdout
