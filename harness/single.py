"""One rival outside a run, proved, warm and parked: what the scripts measure with."""

from pathlib import Path
from typing import Any

import msgspec

from harness import checks, config, hostinfo, staging
from harness.adapters import discover
from harness.config import Measure, Places
from harness.envs import provision
from harness.envs.base import EnvFailed, Environment
from harness.events import Check
from harness.journal import Journal
from harness.matrix import Cell
from harness.rival import LIMITS, Rival, done, job_of, prove
from harness.statuses import Status
from harness.worker import Worker, WorkerFailed


def environment_of(adapter: str, kind: str = "cpu", places: Places | None = None) -> Environment:
    """Return the adapter's environment for a kind of device, where ``places`` or the configuration say; raise ``EnvFailed``."""
    environment = provision.provide(discover()[adapter], kind, places or config.load().places)
    if isinstance(environment, EnvFailed):
        raise environment
    return environment


def start(cell: Cell, journal: Journal, measure: Measure, build: str = "lowered", cpus: list[int] | None = None) -> Rival:
    """Return a rival that has proved and warmed up ``cell`` on ``cpus``, all by default, and waits, stopped."""
    adapter, cpus = discover()[cell.adapter], cpus or hostinfo.granted_cpus()
    launch = environment_of(cell.adapter, cell.device_kind).launch(staging.stage(adapter)[0], cpus, cell.device)
    log = journal.folder / f"{cell.key.replace('/', '_')}-{build}.log"
    rival = Rival(cell, Worker(launch, log), journal)
    try:
        rival.warm_up(measure, done(prove(rival, job_of(cell, adapter, cpus, 1, build))))
        rival.worker.park()
    except BaseException:
        rival.worker.end()
        raise
    return rival


def proof(cell: Cell, environment: Environment, cpus: list[int], log: Path) -> dict[str, Any]:
    """Return what a worker of its own answers when it has proved the parity of ``cell``; raise ``WorkerFailed``."""
    adapter = discover()[cell.adapter]
    worker = Worker(environment.launch(staging.stage(adapter)[0], cpus, cell.device), log)
    try:
        worker.ask(job_of(cell, adapter, cpus, 1).to_json(), LIMITS["start"])
        answer = worker.ask({"do": "parity"}, LIMITS["parity"])
        failure = checks.first_failure(msgspec.convert(answer["checks"], list[Check]))
        if failure:
            raise WorkerFailed(Status.PARITY_FAILED, failure)
        return {field: value for field, value in answer.items() if field != "event"}
    finally:
        worker.end()


def block(rival: Rival, steps: int) -> float:
    """Wake a rival for one step that does not count and a block of ``steps``; return the block's seconds."""
    rival.worker.wake()
    rival.block({"do": "block", "steps": 1}, 1, "settle")
    seconds = rival.block({"do": "block", "steps": steps}, steps, "timed")
    rival.worker.park()
    return seconds
