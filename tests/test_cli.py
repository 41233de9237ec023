"""The command line: help, exit codes, suggestions, and commands that only look."""

import re
import signal
import sys

import pytest
from helpers import Recorder, wait_until

from harness import __version__, cli, paths


def commands(group=cli.main, path=()):
    """Every command there is, as arguments."""
    for name, command in group.commands.items():
        yield (*path, name)
        yield from commands(command, (*path, name)) if hasattr(command, "commands") else ()


@pytest.fixture
def no_runs():
    """Fails where a command that only looks has made a run."""
    yield
    assert not paths.runs().exists()


@pytest.mark.parametrize("command", [(), *commands()], ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(project, command, option):
    outcome = project.run(*command, option)
    assert outcome.code == 0 and outcome.out.startswith(f"Usage: {' '.join(('harness', *command))} ")
    assert outcome.out.split("\n\n")[1].rstrip().endswith("."), "it says what it does"


def test_help_tells_the_exit_codes(project):
    for arguments in (["--help"], ["run", "--help"]):
        text = " ".join(project.run(*arguments).out.split())
        assert "0 every cell ok, unstable or N/A; 1 some cells failed; 2 wrong usage or configuration; 130 interrupted" in text


def test_version(project):
    assert project.run("--version").out == f"harness, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["rnu"],
            "'rnu' is no command. Did you mean 'run'? There are: compare, doctor, env, export, gold, list, matrix, "
            "resume, run, score, show.",
        ),
        (["env", "instal"], "'instal' is no command. Did you mean 'install'?"),
        (["run", "tinny"], "'tinny' is no suite. Did you mean 'tiny'? There is: tiny."),
        (["run", "--adapter", "nunpy"], "'nunpy' is no adapter. Did you mean 'numpy'?"),
        (["run", "--model", "resnet5o"], "'resnet5o' is no model. Did you mean 'resnet50'?"),
        (["run", "--mode", "trian"], "command line: modes[0] is 'trian': Input should be 'train' or 'infer'."),
        (
            ["run", "--device", "gpu"],
            "command line: devices[0] is 'gpu': a device is cpu, cuda, cuda:N or a GPU's UUID as `nvidia-smi -L` prints it.",
        ),
        (["run", "--variant", "numpy=onest"], "'onest' is no variant of numpy. Did you mean 'honest'?"),
        (["run", "--python", "numpy"], "--python 'numpy': write ADAPTER=PATH"),
        (["run", "--python", "nunpy=/usr/bin/python3"], "'nunpy' is no adapter. Did you mean 'numpy'?"),
        (["matrix", "tinny"], "'tinny' is no suite. Did you mean 'tiny'?"),
        (["env", "install", "nunpy"], "'nunpy' is no adapter. Did you mean 'numpy'?"),
        (["env", "remove", "x"], "'x' is no environment. There are: none."),
        (["show", "nope"], "'nope' is no run: "),
        (["show"], "There are no runs in "),
        (["run", "--config", "nowhere.toml"], "nowhere.toml: there is no such file."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_in_a_sentence(project, no_runs, arguments, message):
    outcome = project.run(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("Error: ") and message in outcome.err
    assert outcome.out == "" and "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "arguments", [["run", "--batch", "0"], ["run", "--nope"], ["run", "a", "b"], ["env", "remove"], ["env", "install", "--device", "gpu"]]
)
def test_wrong_usage(project, no_runs, arguments):
    outcome = project.run(*arguments)
    assert outcome.code == 2 and "Error: " in outcome.err


def test_a_broken_configuration(project, no_runs):
    (project.folder / "benchmarks.toml").write_text("version = 1\n")
    outcome = project.run("run", "--dry-run")
    assert outcome.code == 2
    assert outcome.err == "Error: benchmarks.toml: default_suite is missing.\nbenchmarks.toml: suites is missing.\n"


def test_environments_of_an_unknown_adapter(project, no_runs):
    project.document["environments"]["nunpy"] = {"kind": "venv"}
    project.save()
    assert "benchmarks.toml: environments: 'nunpy' is no adapter. Did you mean 'numpy'?" in project.run("run", "--dry-run").err


def test_dry_run_runs_nothing(project, no_runs):
    outcome = project.configure(models=["mobilenet", "nin"], modes=["train"], size=64, devices=["cpu", "cuda"]).run("run", "--dry-run")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "mobilenet/train/cpu/fp32/b2/s64/numpy/honest",
        "nin/train/cpu/fp32/b2/s64/numpy/honest  N/A: the reference draws no random numbers",
        "mobilenet/train/cuda/fp32/b2/s64/numpy/honest  N/A: NumPy has no cuda build in this adapter",
        "nin/train/cuda/fp32/b2/s64/numpy/honest  N/A: NumPy has no cuda build in this adapter",
        "4 cells of suite 'tiny', 1 to measure, 3 N/A. Nothing was run.",
    ]
    assert not paths.cache().exists()


def test_options_choose_cells(project):
    options = ["--model", "nin", "--model", "vgg16", "--mode", "train", "--device", "cuda:1", "--batch", "5", "--variant", "numpy=sleeper"]
    lines = project.run("run", "tiny", "--dry-run", *options).out.splitlines()
    assert [line.partition("  ")[0] for line in lines[:-1]] == [f"{m}/train/cuda:1/fp32/b5/s32/numpy/sleeper" for m in ("nin", "vgg16")]


def test_python_option_replaces_the_environment(project):
    project.document["environments"] = {}
    project.save()
    assert project.run("run", "--python", f"numpy={sys.executable}").code == 0


def test_every_shipped_suite_has_a_plan(project, no_runs):
    (project.folder / "benchmarks.toml").unlink()
    for suite in ("quick", "cpu", "variants", "pytorch-table1", "gpu-infer"):
        outcome = project.run("run", suite, "--dry-run")
        assert outcome.code == 0 and f"cells of suite '{suite}'" in outcome.out


def test_exit_code_of_a_failed_cell(project):
    assert project.run("run", "--variant", "numpy=raises").code == 1
    assert project.run("show").code == 0


def test_list(project, no_runs):
    out = project.run("list").out
    assert re.search(r"numpy +cpu \(numpy>=2,<3\); variants honest, .*; fp32; Python >=3.11", out)
    assert "resnet50     ResNet-50: 25,557,032 parameters, 4,089,184,256 MACs a sample at 224 pixels" in out
    assert "tiny         Tiny (default)" in out


def test_matrix(project, no_runs):
    out = project.configure(models=["mobilenet", "nin"], modes=["train", "infer"], size=20).run("matrix", "tiny").out
    assert "yes" in out and "N/A [1]" in out and "for train and infer" in out
    assert re.search(r"\[1\] (no network at 20 pixels: .*|the reference draws no random numbers)", out)


def test_matrix_of_everything(project, no_runs):
    """Every adapter and model, whatever the suite lists."""
    out = project.run("matrix").out
    for title in ("AlexNet", "GNMT v2 small", "NCF"):
        assert title in out
    for adapter in ("chainer", "cntk", "mxnet", "numpy", "pytorch", "tensor"):
        assert adapter in out


def test_a_gap_that_has_healed_is_reported(project):
    """The reference trains well without random numbers where a model has no dropout; here the gap is about another op."""
    adapter = project.add_adapter("gappy", environment={"kind": "interpreter", "python": sys.executable})
    (adapter.folder / "gaps.toml").write_text('version = 1\n[[gaps]]\nop = "relu"\nreason = "no ReLU before release 3"\n')
    project.configure(adapters=["gappy"])
    assert "N/A: no ReLU before release 3" in project.run("run", "--dry-run").out
    out = project.run("run", "--try-gaps").out
    assert (
        "Healed: mobilenet/infer/cpu/fp32/b2/s32/gappy/honest works. Take 'no ReLU before release 3' out of adapter gappy's gaps.toml."
        in out
    )


class TestShow:
    @pytest.fixture
    def recorded(self, project):
        recorder = Recorder()
        recorder.measured(recorder.plan("alpha"), [0.5, 0.52, 0.48])
        recorder.ended(recorder.plan("beta"), "crashed", "killed by signal 9 (SIGKILL)")
        recorder.load()
        return recorder

    def test_tables(self, project, recorded):
        outcome = project.run("show")
        assert outcome.code == 0 and "40.0 ± 1.6" in outcome.out and "[1] crashed: killed by signal 9 (SIGKILL)" in outcome.out

    @pytest.mark.parametrize("name", ["last", "id", "path"])
    def test_by_any_name(self, project, recorded, name):
        folder = recorded.journal.folder
        assert project.run("show", {"last": "last", "id": folder.name, "path": str(folder)}[name]).out == project.run("show").out

    def test_markdown(self, project, recorded):
        out = project.run("show", "--markdown").out
        assert out.startswith("### Inference, fp32, cpu") and "| Alpha | 40.0 ± 1.6 |" in out

    def test_details(self, project, recorded):
        out = project.run("show", "--details").out
        assert "mobilenet/infer/cpu/fp32/b2/s32/alpha/eager: ok" in out and "30 steps in 3 blocks" in out
        assert "beta/eager: crashed: killed by signal 9 (SIGKILL)" in out

    def test_a_torn_end_is_told(self, project, recorded):
        recorded.path.write_bytes(recorded.path.read_bytes()[:-9])
        outcome = project.run("show")
        assert outcome.code == 0 and outcome.err.startswith("The last event was cut off and is left out.\n")

    def test_a_real_run(self, project):
        """The tables of a run, its tables.md and what is shown later are the same."""
        ran = project.run("run")
        assert "1 cells of 'Tiny'" in ran.err
        assert project.run("show").out.strip() in ran.out
        assert project.run("show", "--markdown").out.strip() == (project.result().folder / "tables.md").read_text().strip()


def test_the_title_of_a_suite_stands_over_what_it_says_alone(project):
    assert "cells of 'Suite tiny, changed on the command line'" in project.run("run", "--batch", "1").err


class TestEnv:
    @pytest.fixture
    def made(self, project):
        """An environment without a package, which needs no index."""
        adapter = project.add_adapter("bare", lock="")
        outcome = project.run("env", "install", "bare")
        assert outcome.code == 0, outcome.err
        return adapter

    def test_list(self, project, made):
        out = project.run("env", "list").out
        assert re.fullmatch(r"bare-cpu-[0-9a-f]{16}  Python 3\.\S+, 0 packages, .*/cache/envs/bare-cpu-[0-9a-f]{16}\n", out)

    def test_where_it_is_is_told(self, project, made):
        """Whether it was made now or before."""
        out = project.run("env", "install", "bare").out
        assert re.fullmatch(r"bare on cpu: /.*/cache/envs/bare-cpu-[0-9a-f]{16}/bin/python\n", out)

    def test_nothing_to_list(self, project):
        assert project.run("env", "list").out == "There are no environments yet. Make them: harness env install\n"

    def test_remove(self, project, made):
        name = project.run("env", "list").out.split()[0]
        assert f"removed {paths.cache() / 'envs' / name}" in project.run("env", "remove", name).out
        assert "There are no environments yet" in project.run("env", "list").out

    def test_remove_with_a_typing_error(self, project, made):
        name = project.run("env", "list").out.split()[0]
        outcome = project.run("env", "remove", name[:-1])
        assert outcome.code == 2 and f"Did you mean '{name}'?" in outcome.err

    def test_install_that_fails(self, project):
        project.document["environments"]["numpy"]["python"] = "/no/python"
        project.save()
        outcome = project.run("env", "install", "numpy")
        assert outcome.code == 1 and "numpy: env-failed: environments.numpy.python is '/no/python'" in outcome.err

    def test_install_for_a_device_that_the_adapter_lacks(self, project):
        """Asked for by name and not done: that is said."""
        outcome = project.run("env", "install", "numpy", "--device", "cuda")
        assert outcome.code == 2 and "cuda" in outcome.err

    def test_an_interrupted_install(self, project):
        slow = project.folder / "slow-python"
        slow.write_text(f"#!/bin/sh\ntouch {project.folder}/asked\nexec sleep 5\n")
        slow.chmod(0o755)
        project.document["environments"]["numpy"]["python"] = str(slow)
        project.save()
        process = project.start("env", "install", "numpy")
        assert wait_until((project.folder / "asked").exists, 30)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130 and "Traceback" not in err


def test_a_plan_that_cannot_be_is_not_printed(project, no_runs):
    outcome = project.run("run", "--dry-run", "--threads", "9999")
    assert outcome.code == 2 and "threads is 9999, but only" in outcome.err


def test_the_plan_of_a_comparison(project, no_runs):
    out = project.run("compare", "numpy=honest", "numpy=sleeper", "--model", "mobilenet", "--size", "64", "--dry-run").out
    assert "mobilenet/infer/cpu/fp32/b2/s64/numpy/sleeper" in out and "Nothing was run." in out


def test_what_goes_to_another_program_is_not_broken_at_80_characters(project, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    out, _ = project.start("matrix").communicate(timeout=60)
    assert max(map(len, out.splitlines())) > 100 and "VGG image generation, cpu, fp32, train" in out


def test_names_are_whole_on_a_narrow_terminal(project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = project.run("gold", "list").out
    assert max(map(len, out.splitlines())) <= 80
    for name in (path.stem for path in (paths.PACKAGE / "gold" / "tables").glob("*.toml")):
        assert re.search(rf"│ {re.escape(name)} +│", out), name


def test_doctor(project, no_runs):
    outcome = project.run("doctor")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert all(re.match(r"(ok  |look)  [A-Za-z]", line) for line in lines)
    for what in ("host: ", "CPU: ", "memory: ", "GPU", "container engine: ", "cache: ", "runs: "):
        assert any(line[6:].startswith(what) for line in lines), what
    assert f"cache: {paths.cache()}" in outcome.out
