"""From a suite to cells: which there are, and which of them are N/A before anything runs, and why."""

import functools
import tomllib
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

import msgspec
import pydantic

from harness import devices
from harness.adapters import Adapter, Gap
from harness.config import EnvironmentSpec, Suite
from harness.core.errors import GeometryError
from harness.core.models import MODELS
from harness.errors import UserError
from harness.suggest import unknown


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One thing to measure: framework x model x mode x device x precision x batch x size x execution variant."""

    adapter: str
    model: str
    mode: str
    device: str
    precision: str
    variant: str
    batch: int
    size: int
    track: str = "as-shipped"
    copy_number: int = 1  # 2 for the baseline's second appearance in an A/A comparison
    threads: int | None = None  # where the suite goes through several; otherwise the run's

    @property
    def name(self) -> str:
        """Who runs: adapter and variant, and which of two alike."""
        return f"{self.adapter} {self.variant}" + (f" #{self.copy_number}" if self.copy_number > 1 else "")

    @property
    def key(self) -> str:
        """The cell's name in events and messages."""
        return (
            f"{self.model}/{self.mode}/{self.device}/{self.precision}/b{self.batch}/s{self.size}/{self.adapter}/{self.variant}"
            + ("" if self.threads is None else f"/t{self.threads}")
            + ("" if self.track == "as-shipped" else f"/{self.track}")
            + ("" if self.copy_number == 1 else f"/{self.copy_number}")
        )

    @property
    def group(self) -> tuple[str, str, str, str, str, int, int, int | None]:
        """Cells of one group differ only in framework and variant: they are what a table compares."""
        return (self.model, self.mode, self.device, self.precision, self.track, self.batch, self.size, self.threads)

    @property
    def proof(self) -> tuple[str, ...]:
        """Cells that are alike in this share a proof of parity: it has a size and a batch of its own."""
        threads = str(self.threads)
        return (self.adapter, self.variant, self.model, self.mode, self.device, self.precision, self.track, threads)

    @property
    def device_kind(self) -> str:
        return devices.kind(self.device)


class Planned(NamedTuple):
    """A cell and, where it is N/A, the reason. ``gap`` is that of a known gap, which may be tried all the same."""

    cell: Cell
    reason: str | None = None
    gap: str | None = None


class Filters(pydantic.BaseModel):
    """What the command line narrows or replaces; an empty list leaves the suite's."""

    adapters: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()  # "adapter=variant"
    baseline: str | None = None
    aa: bool = False
    batches: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    images: str | None = None
    settings: tuple[str, ...] = ()  # "key=value", keys with dots, values as TOML has them


def narrow(suite: Suite, filters: Filters, adapters: dict[str, Adapter]) -> Suite:
    """Return ``suite`` with the command line's choices, which may also name what the suite does not list."""
    changes: dict[str, object] = {
        field: chosen for field in ("adapters", "models", "modes", "devices", "precisions", "tracks") if (chosen := getattr(filters, field))
    }
    if filters.batches:
        changes |= {"batch": filters.batches, "batches": {}}
    changes |= {field: chosen for field, chosen in (("size", filters.sizes), ("threads", filters.threads)) if chosen}
    if filters.baseline is not None:
        changes["baseline"] = filters.baseline
    if filters.images is not None:
        changes["images"] = filters.images
    if filters.aa:
        changes["aa"] = True
    if filters.variants:
        variants: dict[str, tuple[str, ...]] = {}
        for text in filters.variants:
            adapter, _, variant = text.partition("=")
            if not variant:
                raise UserError(f"--variant '{text}': write ADAPTER=VARIANT, for example pytorch=compile.")
            variants[adapter] = (*variants.get(adapter, ()), variant)
        changes["variants"] = {**suite.variants, **variants}
    narrowed = Suite.model_validate(_with_settings({**suite.model_dump(), **changes}, filters.settings))
    check_names(narrowed, adapters)
    return narrowed


def _with_settings(document: dict[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Return a suite's document with "key=value" texts heeded."""
    for text in settings:
        key, equals, value = text.partition("=")
        try:
            tables = tomllib.loads(f"{key} = {value}" if equals else "")
        except tomllib.TOMLDecodeError:
            tables = {}
        if not tables:
            raise UserError(f"--set '{text}': write KEY=VALUE as a suite would have it, for example measure.sweeps=2.")
        document = _merged(document, tables)
    return document


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    joint = {key: _merged(old[key], new[key]) for key in new if isinstance(new[key], dict) and isinstance(old.get(key), dict)}
    return {**old, **new, **joint}


def everything(suite: Suite, adapters: dict[str, Adapter]) -> Suite:
    """Return a suite of all adapters and models in both modes, with whatever else ``suite`` says."""
    batches = {**suite.batches, **{name: (1,) for name, model in MODELS.items() if model.generates}}
    every = {"adapters": tuple(adapters), "models": tuple(MODELS), "modes": ("train", "infer")}
    return suite.model_copy(update={**every, "batches": batches, "baseline": None})


def check_names(suite: Suite, adapters: dict[str, Adapter]) -> None:
    """Raise ``UserError`` where the suite names an adapter, a model or a variant that there is not."""
    for name in (*suite.adapters, *suite.variants):
        if name not in adapters:
            raise UserError(unknown("adapter", name, adapters))
    if suite.baseline is not None and suite.baseline not in suite.adapters:
        raise UserError(unknown("adapter of this run, so ratios cannot be taken to it", suite.baseline, suite.adapters))
    for name in (*suite.models, *suite.batches):
        if name not in MODELS:
            raise UserError(unknown("model", name, MODELS))
    for adapter, variants in suite.variants.items():
        for variant in variants:
            if variant not in adapters[adapter].manifest.variants:
                raise UserError(unknown(f"variant of {adapter}", variant, adapters[adapter].manifest.variants))


def check_threads(suite: Suite, cpus: int) -> None:
    """Raise ``UserError`` where the suite wants one number of threads, and more than there are. Of several, those are N/A."""
    if suite.threads and len(suite.threads) == 1 and suite.threads[0] > cpus:
        raise UserError(f"threads is {suite.threads[0]}, but only {cpus} CPUs may be used here.")


def plan(
    suite: Suite,
    adapters: dict[str, Adapter],
    device_missing: Callable[[str], str | None],
    engine_missing: Callable[[Adapter, str], str | None],
    try_gaps: bool = False,
    cpus: int | None = None,
) -> list[Planned]:
    """Return every cell of ``suite``, group by group, with the reason of each N/A that is known beforehand.

    ``device_missing`` says why a device is not to be had on this host, ``engine_missing`` why an adapter's container is not
    for that kind of device; both say None where it is. ``cpus`` may be used. With ``try_gaps`` a known gap is no reason, so that
    it shows whether it is still there.
    """
    planned = []
    kinds = product(suite.devices, suite.precisions, suite.tracks, suite.models, suite.modes)
    sweep = suite.threads if suite.threads and len(suite.threads) > 1 else (None,)
    for (device, precision, track, model, mode), threads in product(kinds, sweep):
        for size, batch, rival in product(_sizes(model, suite), suite.batches.get(model, suite.batch), _rivals(suite, adapters)):
            name, variant, copy_number = rival
            adapter = adapters[name]
            cell = Cell(
                adapter=name,
                model=model,
                mode=mode,
                device=device,
                precision=precision,
                variant=variant,
                batch=batch,
                size=size,
                track=track,
                copy_number=copy_number,
                threads=threads,
            )
            short = f"{cpus} CPUs may be used here, not {threads}" if threads and cpus and threads > cpus else None
            reason = short or why_not(cell, adapter) or device_missing(device) or engine_missing(adapter, cell.device_kind)
            gap = None if reason else known_gap(cell, adapter)
            planned.append(Planned(cell=cell, reason=reason or (None if try_gaps else gap), gap=gap))
    return planned


def _rivals(suite: Suite, adapters: dict[str, Adapter]) -> list[tuple[str, str, int]]:
    """Adapter and variant of every row, and 2 for the baseline's second row, which comes last."""
    rivals = [(name, variant, 1) for name in suite.adapters for variant in suite.variants.get(name, adapters[name].manifest.variants[:1])]
    if suite.aa:
        base = suite.compared_with
        rivals.append(next((name, variant, 2) for name, variant, _ in rivals if name == base))
    return rivals


def _sizes(model: str, suite: Suite) -> tuple[int, ...]:
    """The suite's sizes, where samples of the model have one."""
    return suite.size if suite.size and MODELS[model].size_unit else (MODELS[model].size,)


def why_not(cell: Cell, adapter: Adapter) -> str | None:
    """Return why ``adapter`` cannot do ``cell``, as far as its manifest and the model's geometry tell."""
    manifest = adapter.manifest
    if cell.device_kind not in manifest.devices:
        return f"{manifest.title} has no {cell.device_kind} build in this adapter"
    if MODELS[cell.model].generates and cell.mode != "train":
        return "an image is generated by training it"
    if MODELS[cell.model].generates and cell.batch != 1:
        return "one image is generated at a time, so the batch is 1"
    if cell.precision == "tf32" and cell.device == "cpu":
        return "TF32 is a format of NVIDIA's tensor cores"
    if cell.precision not in manifest.precisions:
        return f"the {manifest.title} adapter runs {', '.join(manifest.precisions)}, not {cell.precision}"
    return _no_network(cell.model, cell.size)


@functools.cache
def _no_network(model: str, size: int) -> str | None:
    """Return why there is no such network, if there is none."""
    try:
        MODELS[model].build(size)
    except GeometryError as error:
        return f"no network at {size} {MODELS[model].size_unit}: {error}"
    return None


@functools.cache
def _ops(model: str, size: int, mode: str) -> frozenset[str]:
    """Which ops a network has in training, or in inference."""
    graph = MODELS[model].build(size)
    return frozenset(node.op for node in (graph if mode == "train" else graph.for_inference()).nodes)


def known_gap(cell: Cell, adapter: Adapter) -> str | None:
    """Return the reason of the adapter's first gap that is about ``cell``. The network must fit the cell's size."""
    return next((gap.reason for gap in adapter.gaps if _is_about(gap, cell)), None)


ALIKE = tuple(field for field in Gap.model_fields if field in Cell.__struct_fields__ and field != "device")


def _is_about(gap: Gap, cell: Cell) -> bool:
    """Whether all that the gap names is the cell's."""
    if gap.device not in (None, cell.device, cell.device_kind):
        return False
    if any(getattr(gap, field) not in (None, getattr(cell, field)) for field in ALIKE):
        return False
    return gap.op is None or gap.op in _ops(cell.model, cell.size, cell.mode)


def device_missing(gpus: list[dict[str, Any]]) -> Callable[[str], str | None]:
    """Return the function that ``plan`` asks about devices, for a host with the NVIDIA GPUs that ``hostinfo.gpus`` found."""

    def reason(device: str) -> str | None:
        if device == "cpu":
            return None
        if not gpus:
            return "this host has no NVIDIA GPU (or no driver for it)"
        known = [gpu["uuid"] for gpu in gpus] if devices.is_uuid(device) else [f"cuda:{number}" for number in range(len(gpus))]
        return None if device in ("cuda", *known) else f"this host has {len(gpus)} NVIDIA GPU(s), so there is no {device}"

    return reason


def engine_missing(specs: dict[str, EnvironmentSpec], why: str | None) -> Callable[[Adapter, str], str | None]:
    """Return the function that ``plan`` asks about containers, for a host that has no engine because of ``why``, or has one."""

    def reason(adapter: Adapter, kind: str) -> str | None:
        contained = adapter.environment_kind(kind, specs.get(adapter.name, EnvironmentSpec())) == "container"
        return f"{adapter.manifest.title} runs in a container and {why}" if contained and why else None

    return reason
