"""Whatever stands in a file or an option, the user gets a sentence: mutations of valid documents, and plain rubbish.

HARNESS_EXAMPLES says how many inputs each reader meets; a few by default.
"""

import copy
import json
import shutil

import pytest
from click.testing import CliRunner
from helpers import NUMPY, Recorder, examples, write_toml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import adapters, cli, paths, pictures, results
from harness.core import images, jobs
from harness.core.errors import HarnessError
from harness.errors import UserError
from harness.report import whole

MANY = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12) | st.just("../../etc/passwd")
JUNK = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3), max_leaves=6
)


def places(value, path=()):
    """The path of everything in a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, child in children for place in places(child, (*path, key))]


@st.composite
def mutated(draw, document):
    """A document with up to three things replaced, left out or added."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        found = places(changed)
        if not found:
            break
        path = draw(st.sampled_from(found))
        holder = changed
        for part in path[:-1]:
            holder = holder[part]
        action = draw(st.sampled_from(("replace", "delete", "add")))
        if action == "replace":
            holder[path[-1]] = draw(JUNK)
        elif action == "delete":
            del holder[path[-1]]
        elif isinstance(holder, dict):
            holder[draw(st.text(max_size=6))] = draw(JUNK)
    return changed


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run's two files as documents."""
    patch = pytest.MonkeyPatch()
    patch.setenv("HARNESS_RUNS", str(tmp_path_factory.mktemp("runs")))
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), [0.5, 0.6, 0.4], loss=2.0)
    recorder.ended(recorder.plan("beta"), "unsupported", "no such build")
    run = recorder.load()
    patch.undo()
    lines = (run.folder / "events.jsonl").read_text().splitlines()
    return run.folder, json.loads((run.folder / "run.json").read_text()), list(map(json.loads, lines))


@MANY
@given(data=st.data())
def test_a_run_whose_files_were_changed(written, data):
    folder, document, events = written
    changed, told = data.draw(mutated(document)), data.draw(mutated(events))
    (folder / "run.json").write_text(json.dumps(changed))
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in told))
    try:
        run = results.load(folder)
    except UserError as refused:
        assert str(folder) in str(refused)
        return
    whole.rendered(run, 80)
    whole.as_markdown(run)


@MANY
@given(rubbish=st.binary(max_size=80))
def test_a_run_whose_files_are_rubbish(written, rubbish):
    folder, document, _ = written
    (folder / "run.json").write_text(json.dumps(document))
    (folder / "events.jsonl").write_bytes(rubbish)
    try:
        results.load(folder)
    except UserError as refused:
        assert str(folder) in str(refused)


MANIFEST = adapters.load(NUMPY).manifest.model_dump(mode="json", exclude_none=True)
GAPS = {"version": 1, "gaps": [{"op": "lstm", "reason": "none here", "device": "cpu"}, {"model": "nin", "mode": "train", "reason": "why"}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    copied = tmp_path_factory.mktemp("adapter") / "numpy"
    shutil.copytree(NUMPY, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


@pytest.mark.parametrize(("name", "document"), [("manifest.toml", MANIFEST), ("gaps.toml", GAPS)])
@MANY
@given(data=st.data())
def test_an_adapter_s_files(folder, name, document, data):
    sound = {"manifest.toml": MANIFEST, "gaps.toml": GAPS}
    for other, content in sound.items():
        write_toml(folder / other, content)
    try:
        write_toml(folder / name, data.draw(mutated(document)))
    except (ValueError, TypeError):  # what TOML has no form for, or UTF-8
        return
    try:
        adapters.load(folder)
    except UserError as refused:
        assert name in str(refused)


JOB = {"version": 1, "adapter": "numpy", "package": "harness_numpy", "model": "resnet18", "mode": "infer", "device": "cpu", "seed": 0}
JOB |= {"precision": "fp32", "variant": "eager", "batch": 4, "size": 64, "cpus": [0], "gates": ["fp64", "fp32"], "images": None}
JOB |= {"track": "as-shipped", "build": "lowered"}


@MANY
@given(document=mutated(JOB) | JUNK)
def test_a_job_document(document):
    try:
        jobs.parse(document)
    except HarnessError as refused:
        assert str(refused).startswith("job")


NAMES = ("device", "model", "mode", "precision", "track", "variant", "batch", "size", "threads", "set", "baseline")
TRICKY = ("cuda:99", "measure.blocks=2", "measure=1", "suites=[]", "batch=[1,1]", "numpy=", "1e9", "-1", "GPU-1")
WORDS = st.text(max_size=12) | st.sampled_from(TRICKY)


@MANY
@given(options=st.lists(st.tuples(st.sampled_from(NAMES), WORDS), min_size=1, max_size=3))
def test_options_of_the_command_line(project, options):
    arguments = [f"--{name}={word}" for name, word in options]
    result = CliRunner().invoke(cli.main, ["run", "--dry-run", *arguments], prog_name="harness")
    assert result.exit_code in (0, 2), (arguments, result.exception)
    assert result.exit_code == 0 or result.stderr.strip()


@MANY
@given(options=st.lists(st.tuples(st.sampled_from(("adapter", "device", "model", "mode", "precision")), WORDS), max_size=2), name=WORDS)
def test_options_of_what_is_shown(written, options, name):
    folder, document, events = written
    (folder / "run.json").write_text(json.dumps(document))
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    for run in (str(folder), name):
        result = CliRunner().invoke(cli.main, ["show", *(f"--{field}={word}" for field, word in options), "--", run], prog_name="harness")
        assert result.exit_code in (0, 2), (options, name, result.exception)
        assert result.exit_code == 0 or result.stderr.strip()


@MANY
@given(data=st.data(), retry=st.sampled_from([(), ("--retry-failed",), ("--retry", "unsupported")]))
def test_a_changed_run_that_is_resumed(project, monkeypatch, data, retry):
    """Nothing is measured here: what would be is planned, and that is all."""
    monkeypatch.setattr("harness.execute._measure", lambda *_: 0)
    if not list(paths.runs().glob("*")):
        project.run("run", "--device", "cuda")  # one cell, which is N/A
        (paths.runs().parent / "run.json").write_bytes((results.find("last") / "run.json").read_bytes())
        (paths.runs().parent / "events.jsonl").write_bytes((results.find("last") / "events.jsonl").read_bytes())
    document = json.loads((paths.runs().parent / "run.json").read_text())
    folder = results.find("last")
    (folder / "run.json").write_text(json.dumps(data.draw(mutated(document))))
    (folder / "events.jsonl").write_bytes((paths.runs().parent / "events.jsonl").read_bytes())
    result = CliRunner().invoke(cli.main, ["resume", str(folder), *retry], prog_name="harness")
    assert result.exit_code in (0, 2), result.exception
    assert result.exit_code == 0 or result.stderr.strip()


@MANY
@given(
    content=st.binary(max_size=60),
    start=st.sampled_from((b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"BM", b"RIFF", b"P6 9 9 255\n")),
)
def test_an_image_that_is_none(folder, content, start):
    """What begins like a picture is opened, and may be one."""
    for kind in images.KINDS:
        (folder / f"{kind}.png").write_bytes(start + content)
    try:
        pictures.packed(folder, 8)
    except UserError as refused:
        assert str(folder) in str(refused)
