"""The adapter registry, and that the adapters that ship are built alike. Nothing of an adapter is imported."""

import ast
import shutil

import pytest
from helpers import NUMPY, ROOT, write_toml

from harness import adapters
from harness.core.ops import OPS
from harness.errors import UserError

SHIPPED = sorted(path.parent for path in (ROOT / "adapters").glob("*/manifest.toml"))
MANIFEST = {
    "version": 1,
    "name": "mine",
    "title": "Mine",
    "package": "harness_numpy",
    "python": ">=3.11",
    "variants": ["eager"],
    "precisions": ["fp32"],
    "gates": ["fp64", "fp32"],
    "devices": {"cpu": {"lock": "locks/cpu.txt"}},
}


@pytest.fixture
def mine(tmp_path):
    """A folder like the numpy fixture's, to spoil."""
    folder = tmp_path / "mine"
    shutil.copytree(NUMPY, folder)
    write_toml(folder / "manifest.toml", MANIFEST)
    return folder


def refusal(folder):
    with pytest.raises(UserError) as caught:
        adapters.load(folder)
    return str(caught.value).replace(str(folder), "DIR")


def functions(path):
    """The public functions that a file defines and their arguments, in its order."""
    public = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    return {node.name: [argument.arg for argument in node.args.args] for node in public}


def test_what_ships_is_found():
    found = adapters.discover()
    assert {"pytorch", "tensorflow", "mxnet"} <= set(found)
    assert {adapter.folder for adapter in found.values()} == set(SHIPPED)


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
class TestShipped:
    def test_manifest(self, folder):
        adapter = adapters.load(folder)
        assert adapter.name == folder.name and adapter.manifest.package == f"harness_{folder.name}"
        assert "fp64" in adapter.manifest.gates, "parity in float64 is the sharp one"

    def test_files(self, folder):
        package = f"harness_{folder.name}"
        wanted = ["manifest.toml", "gaps.toml", "README.md", "locks/cpu.txt", "locks/cpu.in"]
        wanted += [f"{package}/{name}.py" for name in ("__init__", "adapter", "lower", "native")]
        assert [name for name in wanted if not (folder / name).is_file()] == []

    def test_lower_has_every_op_in_order(self, folder):
        lowerings = {
            name: taken for name, taken in functions(folder / f"harness_{folder.name}" / "lower.py").items() if taken[:1] == ["node"]
        }
        assert list(lowerings) == sorted(OPS)
        assert len(set(map(tuple, lowerings.values()))) == 1, "all take the same arguments"

    def test_native_twin(self, folder):
        assert "build_native" in functions(folder / f"harness_{folder.name}" / "native.py")

    def test_the_lock_pins_what_a_worker_needs(self, folder):
        adapter = adapters.load(folder)
        for kind in adapter.manifest.devices:
            lines = adapter.lock(kind).read_text(encoding="utf-8").splitlines()
            pinned = {line.partition("==")[0] for line in lines if "==" in line}
            assert {"numpy", "pluggy"} <= pinned
            framework, _, release = adapters.pinned_version(adapter, kind).partition("==")
            assert framework.partition("[")[0] in pinned and release
            assert not [line for line in lines if line[:1].isalpha() and "==" not in line], "every requirement is pinned"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", 2, "DIR/manifest.toml: version is 2: Input should be 1."),
        ("name", "My Adapter", "DIR/manifest.toml: name is 'My Adapter': "),
        ("package", "a.b", "DIR/manifest.toml: package is 'a.b': "),
        ("package", "harness_other", "DIR/manifest.toml: package is 'harness_other', but there is no such folder beside it."),
        ("variants", [], "DIR/manifest.toml: variants is []: "),
        ("gates", ["fp46"], "DIR/manifest.toml: gates[0] is 'fp46': Input should be 'fp64' or 'fp32'."),
        ("devices", {"gpu": {"lock": "locks/cpu.txt"}}, "Input should be 'cpu' or 'cuda'"),
        ("devices", {"cpu": {"lcok": "x"}}, "DIR/manifest.toml: devices.cpu.lcok: 'lcok' is no field here. Did you mean 'lock'?"),
        ("devices", {"cpu": {"lock": "locks/no.txt"}}, "DIR/manifest.toml: devices.cpu.lock is 'locks/no.txt', which does not exist."),
        (
            "devices",
            {"cpu": {"lock": "locks/cpu.txt", "containerfile": "Box"}},
            "DIR/manifest.toml: devices.cpu.containerfile is 'Box', which does not exist.",
        ),
        ("python", "3.11 or so", "DIR/manifest.toml: python is '3.11 or so': "),
        ("titel", "Mine", "DIR/manifest.toml: titel: 'titel' is no field here. Did you mean 'title'?"),
    ],
)
def test_a_wrong_manifest(mine, field, value, message):
    write_toml(mine / "manifest.toml", {**MANIFEST, field: value})
    assert message in refusal(mine)


def test_a_folder_without_manifest(tmp_path):
    assert refusal(tmp_path) == "DIR/manifest.toml: cannot be read: No such file or directory."


def test_wrong_gaps(mine):
    write_toml(mine / "gaps.toml", {"version": 1, "gaps": [{"reason": "x"}, {"reason": "y", "moddel": "nin"}]})
    assert refusal(mine).startswith("DIR/gaps.toml: gaps[1].moddel: 'moddel' is no field here. Did you mean 'model'?")


def test_a_gap_needs_a_reason(mine):
    write_toml(mine / "gaps.toml", {"version": 1, "gaps": [{"model": "nin"}]})
    assert refusal(mine) == "DIR/gaps.toml: gaps[0].reason is missing."


def test_a_name_taken_twice(mine):
    write_toml(mine / "manifest.toml", {**MANIFEST, "name": "pytorch"})
    with pytest.raises(UserError, match=r"Two adapters are called 'pytorch': .*adapters/pytorch and .*mine. Rename one."):
        adapters.discover([mine])


def test_pinned_version(mine):
    (mine / "locks" / "cpu.in").write_text("# why\n\nthing==1.2.3\nnumpy\n")
    assert adapters.pinned_version(adapters.load(mine), "cpu") == "thing==1.2.3"


def test_pinned_version_without_its_source(mine):
    """The .in file is for those who make locks; an adapter without one is still an adapter."""
    (mine / "locks" / "cpu.in").unlink()
    assert adapters.pinned_version(adapters.load(mine), "cpu") == "?"
