"""The user's pip configuration, told to uv."""

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
