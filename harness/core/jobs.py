"""The job document: everything a worker is told. JSON in, one immutable record out."""

from typing import Any, Callable, Dict, NamedTuple, Tuple

from harness.core.errors import HarnessError
from harness.core.hookspecs import BuildRequest, Optimizer
from harness.core.models import MODELS

# 1: first version.
VERSION = 1
TRACKS = ("as-shipped", "matched")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "int8")


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
    track: str  # "as-shipped" or "matched", see BuildRequest
    build: str  # "lowered", or "native" for the adapter's hand-written twin
    images: Any  # for image generation: the user's two images as images.packed has them, or None

    def request(self, precision: str, batch: int, optimizer: Optimizer) -> BuildRequest:
        return BuildRequest(self.mode, self.device, precision, self.variant, batch, len(self.cpus), optimizer, self.track)

    def to_json(self) -> Dict[str, Any]:
        document: Dict[str, Any] = {"version": VERSION}
        document.update(self._asdict())
        return document


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: Any, allowed: Callable[[Any], bool]) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(allowed, value))


# What each field may hold, and how to say so.
RULES: Dict[str, Tuple[Callable[[Any], bool], str]] = {
    "adapter": (_is_text, "a name"),
    "package": (_is_text, "a name"),
    "model": (lambda value: _is_text(value) and value in MODELS, "one of the models"),
    "mode": (lambda value: value in ("train", "infer"), "train or infer"),
    "device": (_is_text, "a device"),
    "precision": (lambda value: value in PRECISIONS, "one of " + ", ".join(PRECISIONS)),
    "variant": (_is_text, "a name"),
    "batch": (_is_count, "a whole number from 1"),
    "size": (_is_count, "a whole number from 1"),
    "cpus": (lambda value: _is_list(value, lambda cpu: type(cpu) is int and cpu >= 0), "a list of CPU numbers"),
    "seed": (lambda value: type(value) is int and value >= 0, "a whole number from 0"),
    "gates": (lambda value: _is_list(value, lambda gate: gate in ("fp64", "fp32")), "a list of fp64 and fp32"),
    "track": (lambda value: value in TRACKS, "one of " + ", ".join(TRACKS)),
    "build": (lambda value: value in ("lowered", "native"), "lowered or native"),
    "images": (lambda value: value is None or isinstance(value, dict), "a pair of images or nothing"),
}


def parse(document: Any) -> Job:
    """Return the job in ``document``; raise ``HarnessError`` naming the field that is wrong."""
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise HarnessError("job: this worker reads version %d of the job document" % VERSION)
    fields = {key: value for key, value in document.items() if key != "version"}
    if set(fields) != set(Job._fields):
        raise HarnessError("job: fields %s differ from %s" % (sorted(fields), sorted(Job._fields)))
    for name, (allowed, what) in RULES.items():
        if not allowed(fields[name]):
            raise HarnessError("job.%s is %r: it must be %s" % (name, fields[name], what))
    fields["cpus"], fields["gates"] = tuple(fields["cpus"]), tuple(fields["gates"])
    return Job(**fields)
