"""What the host grants, read from its files."""

import psutil
import pytest

from harness import hostinfo


@pytest.fixture
def mounted(tmp_path):
    """A tree of control groups: folder and file to content."""

    def made(groups, files):
        (tmp_path / "cgroup").write_text(groups)
        for name, content in files.items():
            path = tmp_path / "fs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return hostinfo._memory_limits(tmp_path / "cgroup", tmp_path / "fs")

    return made


def test_version_2(mounted):
    files = {"a/memory.max": "4096\n", "a/b/memory.max": "max\n", "a/b/c/memory.max": "8192\n", "other/memory.max": "1\n"}
    assert sorted(mounted("0::/a/b/c\n", files)) == [4096, 8192]


def test_version_1(mounted):
    files = {"memory/a/memory.limit_in_bytes": "4096\n", "memory/memory.limit_in_bytes": "9223372036854771712\n", "memory.max": "1\n"}
    assert min(mounted("5:cpu,cpuacct:/x\n4:memory:/a\n", files)) == 4096


def test_inside_a_container_the_own_group_is_the_root(mounted):
    assert mounted("0::/\n", {"memory.max": "4096\n"}) == [4096]
    assert mounted("0::/unseen/from/here\n", {}) == [4096]


def test_no_limit(mounted):
    assert mounted("", {}) == [] and mounted("0::/\n", {}) == []


def test_never_more_than_there_is(monkeypatch):
    monkeypatch.setattr(hostinfo, "_memory_limits", lambda: [2**60])
    assert hostinfo.granted_memory() == psutil.virtual_memory().total
