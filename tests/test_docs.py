"""Docs that can be checked are checked."""

import re
import tomllib

import click
import pytest

from harness.cli import main
from harness.config import Config
from harness.core import hookspecs
from harness.gold import published
from harness.paths import PACKAGE
from harness.report import golds
from harness.statuses import Status

ROOT = PACKAGE.parent
SPECIFIED = [name for name in vars(hookspecs) if hasattr(getattr(hookspecs, name), "harness_spec")]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_hook_has_its_section():
    sections = re.findall(r"^## (\w+)$", (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == list(SPECIFIED)


def test_every_hook_but_one_is_required():
    assert sorted(SPECIFIED) == sorted(hookspecs.REQUIRED_HOOKS + hookspecs.OPTIONAL_HOOKS)
    assert hookspecs.OPTIONAL_HOOKS == ("peak_memory",)


def test_the_readme_has_every_command():
    assert isinstance(main, click.Group)
    assert set(re.findall(r"^\| `harness (\w+)", README, re.MULTILINE)) == set(main.commands)


def test_the_readme_has_every_option_of_run():
    row = next(line for line in README.splitlines() if line.startswith("| `harness run"))
    shown = {option.opts[0] for option in main.commands["run"].params if isinstance(option, click.Option)}
    assert set(re.findall(r"--[a-z-]+", row)) | {"--config", "--python"} == shown


def test_the_gold_tables_are_listed_as_they_are():
    listed = (ROOT / "docs" / "gold.md").read_text(encoding="utf-8").partition("\n## The tables that ship\n\n")[2]
    assert listed == golds.catalogue(), "replace what stands under the last heading: python -m harness.report.golds"


def test_the_example_of_a_gold_file_is_one(tmp_path):
    example = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "gold.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "mine.toml").write_text(example[1])
    gold = published.read(tmp_path / "mine.toml")
    assert gold.count() == (3, 1) and round(gold.cells["PyTorch", "AlexNet"].mean) == 1548


def test_the_readme_explains_every_status():
    explained = set(re.findall(r"`([a-z-]+)`", "\n".join(line for line in README.splitlines() if line.startswith("  | `"))))
    assert explained == set(Status) - {Status.OK}


@pytest.mark.parametrize("path", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"], ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path} links to {target}"


def test_the_readme_names_the_default_suite_truly():
    config = Config.model_validate(tomllib.loads((ROOT / "benchmarks.toml").read_text(encoding="utf-8")))
    assert config.suites[config.default_suite].devices == ("cpu",)  # "measures the default suite on this machine's CPU"
