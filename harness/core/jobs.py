"""The job document: everything a worker is told. JSON in, one immutable record out."""

from typing import Any, Dict, NamedTuple, Tuple

from harness.core.errors import HarnessError
from harness.core.hookspecs import BuildRequest, Optimizer
from harness.core.models import MODELS

# 1: first version.
VERSION = 1
MODES = ("train", "infer")


class Job(NamedTuple):
    """One cell to measure. ``cpus`` are the logical CPUs granted; ``gates`` the precisions at which parity is proved."""

    adapter: str
    package: str  # the adapter's importable package
    model: str
    mode: str
    device: str
    precision: str
    variant: str
    batch: int
    size: int  # image side in pixels
    cpus: Tuple[int, ...]
    seed: int
    gates: Tuple[str, ...]
    build: str  # "lowered", or "native" for the adapter's hand-written twin

    def request(self, precision: str, batch: int, optimizer: Optimizer) -> BuildRequest:
        return BuildRequest(self.mode, self.device, precision, self.variant, batch, len(self.cpus), optimizer)

    def to_json(self) -> Dict[str, Any]:
        document: Dict[str, Any] = {"version": VERSION}
        document.update(self._asdict())
        return document


def parse(document: Any) -> Job:
    """Return the job in ``document``; raise ``HarnessError`` naming the field that is wrong."""
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise HarnessError("job: this worker reads version %d of the job document" % VERSION)
    fields = {key: value for key, value in document.items() if key != "version"}
    if set(fields) != set(Job._fields):
        raise HarnessError("job: fields %s differ from %s" % (sorted(fields), sorted(Job._fields)))
    fields["cpus"], fields["gates"] = tuple(fields["cpus"]), tuple(fields["gates"])
    job = Job(**fields)
    if job.model not in MODELS:
        raise HarnessError("job.model: '%s' is none of %s" % (job.model, ", ".join(MODELS)))
    if job.mode not in MODES:
        raise HarnessError("job.mode: '%s' is none of %s" % (job.mode, ", ".join(MODES)))
    if job.batch < 1 or not job.cpus:
        raise HarnessError("job: batch %r and cpus %r must not be empty" % (job.batch, job.cpus))
    return job
