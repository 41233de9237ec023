"""Every test has a cache and runs of its own; nothing of the developer's is read or written."""

import os
import signal
from pathlib import Path

import pytest
from helpers import Project, Recorder, write_toml

from harness import config
from harness.envs import engine, image, provision
from harness.envs.base import EnvFailed

OWN_CACHE = os.environ.get("HARNESS_TEST_CACHE") or os.environ.get("HARNESS_CACHE")


BASE_IMAGE = "docker.io/library/python:3.6-slim"  # what the Containerfiles of the adapters that ship start from


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HARNESS_RUNS", str(tmp_path / "runs"))
    no_engine = {"version": 1, "containers": {"engine": "no-engine"}}  # whatever this host has
    monkeypatch.setenv("HARNESS_CONFIG", str(write_toml(tmp_path / "user.toml", no_engine)))
    monkeypatch.setenv("COLUMNS", "300")  # wide enough that no table is folded
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def own_places():
    """Where adapters run by the developer's own file, which tells how containers run on this host. Read before a test's own is set."""
    return config.load().places


@pytest.fixture
def real_environment(monkeypatch, own_places):
    """An adapter's real environment for the CPU, from the developer's own cache, since it takes minutes to make.

    A test skips where that is a container and this host cannot have one: no engine, or no base image and no way to get it.
    """

    def provided(adapter):
        contained = adapter.environment_kind("cpu", own_places.environments.get(adapter.name, config.EnvironmentSpec())) == "container"
        host = engine.find(own_places.containers)
        if contained and host is None:
            pytest.skip(f"tests/frameworks, {adapter.name}: {engine.missing(own_places.containers)}")
        with monkeypatch.context() as patched:
            patched.setenv("HARNESS_CACHE", OWN_CACHE) if OWN_CACHE else patched.delenv("HARNESS_CACHE")
            outcome = provision.provide(adapter, "cpu", own_places)
        if isinstance(outcome, EnvFailed):
            if contained and host is not None and image.identity(host, BASE_IMAGE) is None:
                pytest.skip(f"tests/frameworks, {adapter.name}: no image {BASE_IMAGE} on this host, and none could be had")
            raise outcome
        return outcome

    return provided


@pytest.fixture
def project(tmp_path):
    before = signal.getsignal(signal.SIGTERM)  # `harness run` sets its own
    made = Project(tmp_path)
    yield made
    signal.signal(signal.SIGTERM, before)
    for process in made.workers():  # of a test that failed
        process.kill()


@pytest.fixture
def recorder():
    return Recorder


def pytest_terminal_summary(terminalreporter):
    """Add a line for each reason that a test was skipped for to the file that HARNESS_SKIPS names."""
    notes = os.environ.get("HARNESS_SKIPS")
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())}
    if notes and reasons:
        with Path(notes).open("a", encoding="utf-8") as file:
            file.writelines(f"{reason}\n" for reason in sorted(reasons))
