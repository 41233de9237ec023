"""The user's pip configuration, told to uv and to a build in a container."""

import os

import pytest

from harness.envs import pipconf


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch):
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def pairs(settings):
    """The options and their values, without the strategy that is always there."""
    options = pipconf.installer(settings).options
    assert options[:2] == ["--index-strategy", "unsafe-best-match"]
    return options[2:]


def test_parse_takes_the_stronger_source():
    listing = """:env:.index-url='https://env/simple'
global.index-url='https://global/simple'
global.extra-index-url='https://one https://two'
install.find-links='/install'
global.find-links='/global'
download.index-url='https://download/simple'
"""
    assert pipconf.parse(listing) == {
        "index-url": "https://env/simple",
        "extra-index-url": "https://one https://two",
        "find-links": "/install",
    }


def test_parse_multi_line_values_and_noise():
    listing = "WARNING: something\nglobal.find-links='\\n/one\\n/two'\n\nglobal.name='it\\'s = here'\n"
    assert pipconf.parse(listing) == {"find-links": "\n/one\n/two", "name": "it's = here"}


def test_an_empty_value_counts_as_none():
    """Pip ignores it, and looks at the weaker source."""
    assert pipconf.parse(":env:.index-url=''\nglobal.index-url='https://global/simple'\n") == {"index-url": "https://global/simple"}


def test_nothing_configured_is_nothing_said():
    assert pairs({}) == [] and pipconf.installer({}).variables == {}


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"index-url": "https://a/simple"}, ["--default-index", "https://a/simple"]),
        ({"extra-index-url": "https://a\nhttps://b"}, ["--index", "https://a", "--index", "https://b"]),
        ({"find-links": "/one /two\n/three"}, ["--find-links", "/one", "--find-links", "/two", "--find-links", "/three"]),
        ({"trusted-host": "a b"}, ["--allow-insecure-host", "a", "--allow-insecure-host", "b"]),
        ({"constraint": "/c1 '/with space/c2'"}, ["--constraint", "/c1", "--constraint", "/with space/c2"]),
        ({"no-index": "1"}, ["--no-index"]),
        ({"no-index": "True"}, ["--no-index"]),
        ({"no-index": "yes"}, ["--no-index"]),
        ({"no-index": "false"}, []),
        ({"no-index": "0"}, []),
        ({"disable-pip-version-check": "1"}, []),
    ],
)
def test_options(settings, options):
    assert pairs(settings) == options


@pytest.mark.parametrize(
    ("settings", "variables"),
    [
        ({"cert": "/ca.pem"}, {"SSL_CERT_FILE": "/ca.pem"}),
        ({"proxy": "http://p:1"}, {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:1"}),
        ({"timeout": "7"}, {"UV_HTTP_TIMEOUT": "7"}),
        ({"default-timeout": "180"}, {"UV_HTTP_TIMEOUT": "180"}),
    ],
)
def test_variables(settings, variables):
    assert pipconf.installer(settings).variables == variables


def test_read_sees_file_and_variables(monkeypatch, tmp_path):
    """The whole way, through pip itself."""
    (tmp_path / "pip.conf").write_text(
        "[global]\nfind-links =\n    /one\n    /two\nindex-url = https://global/simple\n[install]\nconstraint = /c.txt\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://env/simple")
    monkeypatch.setenv("PIP_NO_INDEX", "")
    settings = pipconf.read()
    assert settings["index-url"] == "https://env/simple"
    assert settings["find-links"].split() == ["/one", "/two"]
    assert settings["constraint"] == "/c.txt"
    assert "--no-index" not in pairs(settings)


def test_variables_are_read_without_pip(monkeypatch):
    """A Python made by uv has no pip to ask."""
    monkeypatch.setattr("sys.executable", "/bin/false")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    assert pipconf.read()["find-links"] == "/wheels"


class TestForImage:
    def test_what_a_build_needs_and_no_more(self):
        settings = {
            "index-url": "https://index/simple",
            "no-index": "0",
            "cache-dir": "/home/me/cache",
            "target": "/elsewhere",
            "user": "true",
        }
        assert pipconf.for_image(settings, mounts=True) == ("[global]\nindex-url = https://index/simple\nno-index = 0\n", [])

    def test_lists(self):
        text, _ = pipconf.for_image({"extra-index-url": "\nhttps://one\nhttps://two", "trusted-host": "a b"}, mounts=True)
        assert text == "[global]\nextra-index-url = https://one\n    https://two\ntrusted-host = a\n    b\n"

    def test_local_places_are_mounted_where_that_can_be(self, tmp_path):
        (tmp_path / "own.pem").write_text("")
        settings = {"cert": f"{tmp_path}/own.pem", "find-links": f"{tmp_path.as_uri()} https://links/", "constraint": "/no/such/file"}
        text, places = pipconf.for_image(settings, mounts=True)
        assert text == f"[global]\ncert = {tmp_path}/own.pem\nfind-links = {tmp_path}\n    https://links/\n"
        assert places == [f"{tmp_path}/own.pem", str(tmp_path)]
        assert pipconf.for_image(settings, mounts=False) == ("[global]\nfind-links = https://links/\n", [])

    def test_a_local_index_is_left_out(self, tmp_path):
        """Its pages link to files anywhere on the host, which the build would not find."""
        settings = {"index-url": tmp_path.as_uri(), "extra-index-url": f"{tmp_path} https://extra/"}
        assert pipconf.for_image(settings, mounts=True) == ("[global]\nextra-index-url = https://extra/\n", [])

    def test_pip_reads_it(self, monkeypatch, tmp_path):
        settings = {"find-links": f"{tmp_path} https://links/%20x", "default-timeout": "180"}
        (tmp_path / "pip.conf").write_text(pipconf.for_image(settings, mounts=True).text)
        monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
        read = pipconf.read()
        assert read["find-links"].split() == [str(tmp_path), "https://links/%20x"] and read["default-timeout"] == "180"
