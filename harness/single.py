"""One rival outside a run, proved, warm and parked: what the scripts measure with."""

from harness import config, hostinfo, staging
from harness.adapters import discover
from harness.config import Measure
from harness.envs import provision
from harness.envs.base import EnvFailed, Environment
from harness.matrix import Cell
from harness.results import Journal
from harness.rival import Rival, done, job_of, prove
from harness.worker import Worker


def environment_of(adapter: str) -> Environment:
    """Return the adapter's environment on this host's CPU; raise ``EnvFailed``."""
    environment = provision.provide(discover()[adapter], "cpu", config.load().places)
    if isinstance(environment, EnvFailed):
        raise environment
    return environment


def start(cell: Cell, journal: Journal, measure: Measure, build: str = "lowered") -> Rival:
    """Return a rival that has proved and warmed up ``cell`` and waits, stopped."""
    adapter, cpus = discover()[cell.adapter], hostinfo.granted_cpus()
    launch = environment_of(cell.adapter).launch(staging.stage(adapter)[0], cpus, "cpu")
    log = journal.folder / f"{cell.key.replace('/', '_')}-{build}.log"
    rival = Rival(cell, Worker(launch, log), journal)
    try:
        rival.warm_up(measure, done(prove(rival, job_of(cell, adapter, cpus, 1, build))))
        rival.worker.park()
    except BaseException:
        rival.worker.end()
        raise
    return rival


def block(rival: Rival, steps: int) -> float:
    """Wake a rival for one step that does not count and a block of ``steps``; return the block's seconds."""
    rival.worker.wake()
    rival.block({"do": "block", "steps": 1}, 1, "settle")
    seconds = rival.block({"do": "block", "steps": steps}, steps, "timed")
    rival.worker.park()
    return seconds
