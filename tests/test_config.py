"""benchmarks.toml: what is wrong in it is told with file, field, value and what is allowed."""

import copy
import sys
from pathlib import Path

import pytest
from helpers import ROOT, examples, suite, write_toml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import config, toml
from harness.errors import UserError

VALID = {
    "version": 1,
    "default_suite": "tiny",
    "adapter_paths": ["extra"],
    "environments": {"numpy": {"kind": "interpreter", "python": "/usr/bin/python3"}},
    "suites": {"tiny": suite(variants={"numpy": ["honest"]}, batches={"mobilenet": 4})},
}


def load(folder: Path, document: dict) -> config.Source:
    return config.load(write_toml(folder / "benchmarks.toml", document))


def error(folder: Path, *path: str, value: object) -> str:
    """The message for the valid document with ``value`` at ``path``."""
    document = copy.deepcopy(VALID)
    table = document
    for part in path[:-1]:
        table = table[part]
    table[path[-1]] = value
    with pytest.raises(UserError) as caught:
        load(folder, document)
    return str(caught.value).replace(str(folder / "benchmarks.toml"), "FILE")


def test_the_shipped_file_loads(monkeypatch):
    shipped = config.load(None)
    assert shipped.path == ROOT / "benchmarks.toml"
    assert {"quick", "cpu", "variants", "pytorch-table1", "deep-gap", "gdev-ai", "iterations-per-minute", "gpu-infer"} == set(
        shipped.config.suites
    )


def test_the_schema_is_that_of_the_code():
    stored = (ROOT / "benchmarks.schema.json").read_text(encoding="utf-8")
    assert stored == config.schema(), "benchmarks.schema.json is stale; run: python -m harness.config > benchmarks.schema.json"


def test_a_file_here_comes_before_the_shipped_one(tmp_path):
    load(tmp_path, VALID)
    assert config.load(None).config.suites["tiny"].title == "Tiny"
    assert config.load(None).adapter_folders() == [tmp_path / "extra"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("version",), 2, "FILE: version is 2: Input should be 1."),
        (("suite",), {}, "FILE: suite: 'suite' is no field here. Did you mean 'suites'?"),
        (("suites", "tiny", "bacth"), 1, "FILE: suites.tiny.bacth: 'bacth' is no field here. Did you mean 'batch'?"),
        (("suites", "tiny", "batch"), 0, "FILE: suites.tiny.batch[0] is 0: Input should be greater than or equal to 1."),
        (("suites", "tiny", "batch"), [4, 4], "FILE: suites.tiny.batch is [4, 4]: every item may stand there once."),
        (("suites", "tiny", "batch"), "many", "FILE: suites.tiny.batch is 'many': "),
        (("suites", "tiny", "batches"), {"nin": -1}, "FILE: suites.tiny.batches.nin[0] is -1: "),
        (("suites", "tiny", "modes"), ["trian"], "FILE: suites.tiny.modes[0] is 'trian': Input should be 'train' or 'infer'."),
        (("suites", "tiny", "modes"), [], "FILE: suites.tiny.modes is []: "),
        (("suites", "tiny", "models"), ["nin", "nin"], "FILE: suites.tiny.models is ['nin', 'nin']: every item may stand there once."),
        (
            ("suites", "tiny", "devices"),
            ["cpu", "gpu"],
            "FILE: suites.tiny.devices[1] is 'gpu': a device is cpu, cuda, cuda:N or a GPU's UUID as `nvidia-smi -L` prints it.",
        ),
        (("suites", "tiny", "precisions"), ["fp23"], "FILE: suites.tiny.precisions[0] is 'fp23': Input should be 'fp32', 'tf32',"),
        (("suites", "tiny", "measure"), {"block": 9}, "FILE: suites.tiny.measure.block: 'block' is no field here. Did you mean 'blocks'?"),
        (
            ("suites", "tiny", "measure"),
            {"blocks": 1},
            "FILE: suites.tiny.measure.blocks is 1: Input should be greater than or equal to 2.",
        ),
        (
            ("environments", "numpy", "kind"),
            "conda",
            "FILE: environments.numpy.kind is 'conda': Input should be 'venv', 'interpreter' or 'container'.",
        ),
        (("environments", "numpy"), {"kind": "interpreter"}, "kind 'interpreter' needs python = \"/path/to/python\""),
        (("environments", "numpy"), {"image": "x"}, 'an image needs kind = "container"'),
        (("containers",), {"engin": "x"}, "FILE: containers.engin: 'engin' is no field here. Did you mean 'engine'?"),
        (("containers",), {"memory": "all"}, "FILE: containers.memory is 'all': "),
        (("containers",), {"memory": "1"}, "FILE: containers.memory is '1': no worker can begin with so little; write at least 64m."),
        (("containers",), {"run_flags": "--init"}, "FILE: containers.run_flags is '--init': "),
        (("suites",), {}, "FILE: suites is {}: "),
    ],
)
def test_a_wrong_field_is_named(tmp_path, path, value, message):
    assert message in error(tmp_path, *path, value=value)


def test_an_unknown_default_suite(tmp_path):
    message = error(tmp_path, "default_suite", value="tinny")
    assert "'tinny'" in message and "tiny" in message
    assert "suites': {" not in message, "the whole file as a value says nothing"


def test_missing_fields(tmp_path):
    with pytest.raises(UserError) as caught:
        load(tmp_path, {"version": 1, "suites": {"tiny": {"title": "x", "models": ["nin"], "batch": 1}}})
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/benchmarks.toml: default_suite is missing.",
        f"{tmp_path}/benchmarks.toml: suites.tiny.adapters is missing.",
    ]


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -float("inf")])
@pytest.mark.parametrize("field", ["warmup_seconds", "block_seconds", "cell_seconds"])
def test_a_time_is_finite(tmp_path, field, number):
    """TOML has inf and nan; a run that never ends, or fails in the middle, is no use of them."""
    path = tmp_path / "benchmarks.toml"
    path.write_text(toml_document(measure=f"{{ {field} = {number} }}"))
    with pytest.raises(UserError, match=f"suites.tiny.measure.{field} is"):
        config.load(path)


def toml_document(measure: str) -> str:
    return f"""version = 1
default_suite = "tiny"
suites.tiny = {{ title = "x", adapters = ["numpy"], models = ["nin"], batch = 1, measure = {measure} }}
"""


@pytest.mark.parametrize("content", [b"version = ", b"[suites\n", b"version = 1\nversion = 1\n", b"title = '\xff\xfe'\n", b"\0"])
def test_what_is_no_toml(tmp_path, content):
    path = tmp_path / "benchmarks.toml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"benchmarks.toml: is no valid TOML: "):
        config.load(path)


def test_a_file_that_is_not_there():
    with pytest.raises(UserError, match=r"nowhere.toml: there is no such file"):
        config.load(Path("nowhere.toml"))


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match=r"cannot be read: Is a directory"):
        toml.load(tmp_path, config.Config)


class TestTheUsersFile:
    """Facts of a host stand in a file of the user's; what benchmarks.toml says is stronger."""

    @pytest.fixture
    def user(self, tmp_path, monkeypatch):
        path = tmp_path / "home" / "config.toml"
        path.parent.mkdir()
        monkeypatch.setenv("HARNESS_CONFIG", str(path))
        return lambda **document: write_toml(path, {"version": 1, **document})

    def test_both_are_heard(self, tmp_path, user):
        user(
            containers={"engine": "docker", "engine_flags": ["--debug"], "memory": "2g"},
            environments={"numpy": {"kind": "venv"}, "other": {"kind": "container", "image": "vendor/x:1"}},
        )
        places = load(tmp_path, {**VALID, "containers": {"memory": "8g", "engine_flags": []}}).places
        assert places.containers == config.Containers(engine="docker", engine_flags=(), memory="8g")
        assert places.environments["numpy"].kind == "interpreter", "that of benchmarks.toml, whole"
        assert places.environments["other"].image == "vendor/x:1"

    def test_it_may_name_adapters_that_are_not_here(self, project, user):
        user(environments={"elsewhere": {"kind": "venv"}})
        assert project.run("run", "--dry-run").code == 0

    def test_the_command_line_is_stronger_still(self, project, user):
        user(environments={"numpy": {"kind": "interpreter", "python": "/no/python"}})
        project.document["environments"] = {}
        project.save()
        assert project.run("run").code == 1
        assert project.run("run", "--python", f"numpy={sys.executable}").code == 0

    @pytest.mark.parametrize(
        ("document", "message"),
        [
            ({"suites": {}}, "config.toml: suites: 'suites' is no field here. There are: containers, environments, memory, version."),
            ({"version": 2}, "config.toml: version is 2: Input should be 1."),
            ({"containers": {"engine": 1}}, "config.toml: containers.engine is 1: Input should be a valid string."),
            ({"environments": {"x": {"kind": "interpreter"}}}, "config.toml: environments.x is "),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, user, document, message):
        user(**document)
        with pytest.raises(UserError) as caught:
            load(tmp_path, VALID)
        assert message in str(caught.value)

    def test_one_that_is_named_must_be_there(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HARNESS_CONFIG", "/no/config.toml")
        with pytest.raises(UserError, match=r"HARNESS_CONFIG is '/no/config.toml': there is no such file."):
            load(tmp_path, VALID)

    def test_by_default_it_is_in_the_users_folder(self, tmp_path, monkeypatch):
        monkeypatch.delenv("HARNESS_CONFIG")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        assert load(tmp_path, VALID).places.containers == config.Containers(), "there need not be one"
        (tmp_path / "config" / "framework-harness").mkdir(parents=True)
        write_toml(tmp_path / "config" / "framework-harness" / "config.toml", {"version": 1, "containers": {"engine": "docker"}})
        assert load(tmp_path, VALID).places.containers.engine == "docker"


JUNK = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.lists(st.one_of(st.integers(-2, 2), st.text(max_size=4)), max_size=3),
    st.dictionaries(st.text(max_size=6), st.one_of(st.integers(-2, 2), st.text(max_size=4)), max_size=2),
)


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The path of everything in a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, child in children for place in places(child, (*path, key))]


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_document_makes_it_crash(tmp_path, data):
    """Mutations of a valid document are either valid too or refused with a message."""
    document = copy.deepcopy(VALID)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(document)))
        holder = document
        for part in path[:-1]:
            holder = holder[part]
        action = data.draw(st.sampled_from(("replace", "delete", "add")))
        if action == "replace":
            holder[path[-1]] = data.draw(JUNK)
        elif action == "add" and isinstance(holder, dict):
            holder[data.draw(st.text(max_size=8))] = data.draw(JUNK)
        elif len(holder) > 1 or len(path) > 1:
            del holder[path[-1]]
        if not document:
            break
    try:
        source = load(tmp_path, document)
    except UserError as refused:
        assert "benchmarks.toml: " in str(refused)
    else:
        assert isinstance(source.config, config.Config)
