"""benchmarks.toml: suites of cells as data, and where each adapter runs. What is a fact of the host may stand in the user's file too."""

import json
import os
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import pydantic

from harness import devices, paths, toml
from harness.errors import UserError
from harness.suggest import unknown

# 1: first version. The same for benchmarks.toml and the user's config.toml.
VERSION = 1


Item = TypeVar("Item")


def _unlike(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if len(set(items)) < len(items):
        raise ValueError("every item may stand there once")
    return items


LEAST_MEMORY = 64 * 2**20  # bytes: Python and numpy alone take about that


def _is_enough(text: str) -> str:
    if in_bytes(text) < LEAST_MEMORY:
        raise ValueError("no worker can begin with so little; write at least 64m")
    return text


def _is_device(text: str) -> str:
    if not devices.is_device(text):
        raise ValueError(f"a device is {devices.NAMES}")
    return text


Some = Annotated[tuple[Item, ...], pydantic.Field(min_length=1), pydantic.AfterValidator(_unlike)]
Names = Some[str]
Positive = Annotated[int, pydantic.Field(ge=1, strict=True)]


def _listed(value: object) -> object:
    return (value,) if isinstance(value, int) else value


# One number, or several to go through.
Sweep = Annotated[Some[Positive], pydantic.BeforeValidator(_listed, json_schema_input_type=Positive | Some[Positive])]
Protocol = Literal["throughput", "latency", "iterations"]
Mode = Literal["train", "infer"]
Precision = Literal["fp32", "tf32", "fp16", "bf16", "int8"]
Track = Literal["as-shipped", "matched"]
Memory = Annotated[str, pydantic.Field(pattern=r"^[1-9][0-9]*[bkmg]?$"), pydantic.AfterValidator(_is_enough)]
Device = Annotated[str, pydantic.AfterValidator(_is_device)]


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Measure(_Table):
    """How a cell is timed. Steps per block follow from the warm-up: as many as fill ``block_seconds``, at least one."""

    warmup_seconds: float = pydantic.Field(2.0, ge=0, description="least time of steps before timing, the first step apart")
    warmup_steps: Positive = pydantic.Field(3, description="least number of those steps")
    warmup_cap_seconds: float = pydantic.Field(20.0, ge=0, description="warm-up ends here, steady or not")
    steady_within: float = pydantic.Field(0.05, gt=0, description="steady: coefficient of variation of the last three windows' step times")
    blocks: int = pydantic.Field(10, ge=2, strict=True, description="least number of timed blocks of each worker of a cell")
    most_blocks: int = pydantic.Field(
        120, ge=2, strict=True, description="where the rate is not precise enough after them, go on up to this number"
    )
    target: float = pydantic.Field(0.01, gt=0, description="precise enough: half the 95 % interval of the rate, relative to it")
    block_seconds: float = pydantic.Field(0.5, gt=0, description="length that a block aims at")
    cell_seconds: float = pydantic.Field(
        120.0, gt=0, description="budget for a worker's timed blocks: slow cells get fewer, at least three"
    )
    warmup_requests: int = pydantic.Field(20, ge=0, strict=True, description="protocol latency: requests before those that are timed")
    requests: Positive = pydantic.Field(100, description="protocol latency: timed requests of a repeat")
    repeats: Positive = pydantic.Field(3, description="protocol latency: repeats in a sweep, one after the other")
    sweeps: Positive = pydantic.Field(10, description="protocol latency: visits of each framework; between them it is the others' turn")
    interval_seconds: float = pydantic.Field(60.0, gt=0, description="protocol iterations: time after which iterations are counted")
    intervals: int = pydantic.Field(5, ge=2, strict=True, description="protocol iterations: number of those counts")
    processes: Positive = pydantic.Field(
        1, description="workers that a cell gets, one after the other: what differs between processes shows"
    )
    margin: float = pydantic.Field(
        0.01,
        gt=0,
        description="how far from 1 a ratio must certainly be for 'faster' or 'slower', and certainly not be for 'same'",
    )
    unstable_above: float = pydantic.Field(
        0.10, gt=0, description="relative standard deviation over blocks above which a cell is 'unstable'; 10 % is what pyperf warns at"
    )

    @property
    def most(self) -> int:
        return max(self.blocks, self.most_blocks)

    @pydantic.model_validator(mode="after")
    def _spread_needs_two(self) -> "Measure":
        if self.repeats * self.sweeps * self.processes < 2:
            raise ValueError("repeats, sweeps and processes are all 1: a number without a spread is not printed")
        return self


class Suite(_Table):
    """A set of cells: the product of its lists."""

    title: str
    protocol: Protocol = pydantic.Field(
        "throughput",
        description="throughput: steps back to back; latency: each step timed by itself; iterations: counted after each minute",
    )
    adapters: Names
    models: Names
    modes: Some[Mode] = ("train", "infer")
    devices: Some[Device] = ("cpu",)
    precisions: Some[Precision] = ("fp32",)
    tracks: Some[Track] = pydantic.Field(
        ("as-shipped",), description="as-shipped: each framework's recommended settings; matched: no folding, no fusing, alike for all"
    )
    variants: dict[str, Names] = pydantic.Field({}, description="execution variants by adapter; the first of its manifest otherwise")
    batch: Sweep = pydantic.Field(description="samples a step, or a list to go through")
    batches: dict[str, Sweep] = pydantic.Field({}, description="samples a step for single models")
    size: Sweep | None = pydantic.Field(
        None, description="image side in pixels, or longest sentence in tokens, or a list to go through; the model's own otherwise"
    )
    threads: Sweep | None = pydantic.Field(
        None, description="CPU threads granted, or a list to go through; all that the harness may use otherwise"
    )
    seed: int = pydantic.Field(1, ge=0, strict=True)
    baseline: str | None = pydantic.Field(None, description="adapter that ratios are taken to; the first of the list otherwise")
    images: str | None = pydantic.Field(
        None, description="folder with content.* and style.* for image generation, relative to this file; made by formula otherwise"
    )
    aa: bool = pydantic.Field(False, description="measure the baseline a second time under another name: their ratio must be 1")
    measure: Measure = Measure()

    @property
    def compared_with(self) -> str:
        """The adapter that ratios are taken to."""
        return self.baseline or self.adapters[0]

    @pydantic.model_validator(mode="after")
    def _minutes_are_counted_in_one_process(self) -> "Suite":
        if self.protocol == "iterations" and self.measure.processes > 1:
            raise ValueError("protocol iterations counts on in one process, so measure.processes is 1")
        return self


def in_bytes(memory: str) -> int:
    """Bytes of what a ``Memory`` says."""
    factor = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30}.get(memory[-1])
    return int(memory[:-1]) * factor if factor else int(memory)


class EnvironmentSpec(_Table):
    """Where an adapter runs: a virtual environment or a container of the harness's own, or an interpreter or image that exists already."""

    kind: Literal["venv", "interpreter", "container"] | None = pydantic.Field(
        None, description="what the adapter's manifest says otherwise"
    )
    python: str | None = pydantic.Field(
        None, description="path of the interpreter; for a venv, the Python to make it from; for a container, the one inside it"
    )
    image: str | None = pydantic.Field(None, description="for a container: an image that is on this host; nothing is built")

    @pydantic.model_validator(mode="after")
    def _fields_fit_the_kind(self) -> "EnvironmentSpec":
        if self.kind == "interpreter" and self.python is None:
            raise ValueError("kind 'interpreter' needs python = \"/path/to/python\"")
        if self.image is not None and self.kind != "container":
            raise ValueError('an image needs kind = "container"')
        return self


class Containers(_Table):
    """How containers are built and run on this host."""

    engine: str | None = pydantic.Field(None, description="podman, docker or a path; the first of the two on the PATH otherwise")
    engine_flags: tuple[str, ...] = pydantic.Field((), description='before every subcommand, for example ["--runtime", "runc"]')
    build_flags: tuple[str, ...] = pydantic.Field((), description="further options of `build`")
    run_flags: tuple[str, ...] = pydantic.Field((), description="further options of `run`; they come after the harness's own")
    memory: Memory | None = pydantic.Field(
        None, description="limit of a worker in one; the general one otherwise, else what the harness may use"
    )


class Places(_Table):
    """Where adapters run on this host."""

    environments: dict[str, EnvironmentSpec] = {}
    containers: Containers = Containers()
    memory: Memory | None = pydantic.Field(
        None, description='limit of a worker, for example "16g"; past it a cell ends as oom. Containers have one in any case'
    )

    def over(self, weaker: "Places") -> "Places":
        """Join both: an environment of this one replaces the weaker one's whole, a setting of containers by itself."""
        settings = {**weaker.containers.model_dump(exclude_unset=True), **self.containers.model_dump(exclude_unset=True)}
        environments = {**weaker.environments, **self.environments}
        return Places(environments=environments, containers=Containers(**settings), memory=self.memory or weaker.memory)


class UserConfig(Places):
    """The user's config.toml: facts of a host rather than of a benchmark."""

    version: Literal[1]


class Config(Places):
    """The whole file."""

    version: Literal[1]
    default_suite: str
    adapter_paths: tuple[str, ...] = pydantic.Field((), description="folders of further adapters, relative to this file")
    suites: dict[str, Suite] = pydantic.Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _default_exists(self) -> "Config":
        if self.default_suite not in self.suites:
            raise ValueError(f"default_suite: {unknown('suite', self.default_suite, self.suites)}")
        return self


class Source(pydantic.BaseModel):
    """A configuration, the file that it came from, and where adapters run once the user's own file is heard too."""

    path: Path
    config: Config
    places: Places

    def adapter_folders(self) -> list[Path]:
        return [(self.path.parent / folder).resolve() for folder in self.config.adapter_paths]


def load(path: Path | None = None) -> Source:
    """Read ``path``, else ``benchmarks.toml`` in the current folder, else the one that ships."""
    if path is not None and not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    if path is None:
        here = Path("benchmarks.toml")
        path = here if here.is_file() else paths.shipped() / "benchmarks.toml"
    config = toml.load(path, Config)
    return Source(path=path, config=config, places=config.over(_of_this_host()))


def _of_this_host() -> Places:
    """Read the user's file. There need not be one, but one that HARNESS_CONFIG names must be there."""
    path = paths.user_config()
    if path is None or not path.is_file():
        if os.environ.get("HARNESS_CONFIG"):
            raise UserError(f"HARNESS_CONFIG is '{path}': there is no such file.")
        return Places()
    return toml.load(path, UserConfig)


def schema() -> str:
    """The JSON schema of benchmarks.toml, as benchmarks.schema.json holds it."""
    return json.dumps(Config.model_json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(schema(), end="")
