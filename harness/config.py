"""benchmarks.toml: suites of cells as data, and where each adapter's environment comes from."""

import json
import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import pydantic

from harness import paths, toml
from harness.errors import UserError
from harness.suggest import unknown

# 1: first version.
VERSION = 1


def _unlike(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(items)) < len(items):
        raise ValueError("every item may stand there once")
    return items


def _is_device(text: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", text):
        raise ValueError("a device is cpu, cuda or cuda:N")
    return text


Item = TypeVar("Item", bound=str)
Some = Annotated[tuple[Item, ...], pydantic.Field(min_length=1), pydantic.AfterValidator(_unlike)]
Names = Some[str]
Positive = Annotated[int, pydantic.Field(ge=1, strict=True)]
Mode = Literal["train", "infer"]
Precision = Literal["fp32", "tf32", "fp16", "bf16", "int8"]
Device = Annotated[str, pydantic.AfterValidator(_is_device)]


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Measure(_Table):
    """How a cell is timed. Steps per block follow from the warm-up: as many as fill ``block_seconds``, at least one."""

    warmup_seconds: float = pydantic.Field(2.0, ge=0, description="least time of steps before timing, the first step apart")
    warmup_steps: Positive = pydantic.Field(3, description="least number of those steps")
    blocks: int = pydantic.Field(10, ge=2, strict=True, description="timed blocks per cell")
    block_seconds: float = pydantic.Field(1.0, gt=0, description="length that a block aims at")
    cell_seconds: float = pydantic.Field(120.0, gt=0, description="budget for timed blocks: slow cells get fewer, at least three")
    unstable_above: float = pydantic.Field(
        0.10, gt=0, description="relative standard deviation over blocks above which a cell is 'unstable'; 10 % is what pyperf warns at"
    )


class Suite(_Table):
    """A set of cells: the product of its lists."""

    title: str
    adapters: Names
    models: Names
    modes: Some[Mode] = ("train", "infer")
    devices: Some[Device] = ("cpu",)
    precisions: Some[Precision] = ("fp32",)
    variants: dict[str, Names] = pydantic.Field({}, description="execution variants by adapter; the first of its manifest otherwise")
    batch: Positive = pydantic.Field(description="samples a step")
    batches: dict[str, Positive] = pydantic.Field({}, description="samples a step for single models")
    size: Positive | None = pydantic.Field(
        None, description="image side in pixels, or longest sentence in tokens; the model's own otherwise"
    )
    threads: Positive | None = pydantic.Field(None, description="CPU threads granted; all that the harness may use otherwise")
    seed: int = pydantic.Field(1, ge=0, strict=True)
    measure: Measure = Measure()


class EnvironmentSpec(_Table):
    """Where an adapter runs: a virtual environment of the harness's own, or an interpreter that exists already."""

    kind: Literal["venv", "interpreter"] = "venv"
    python: str | None = pydantic.Field(None, description="path of the interpreter; for a venv, the Python to make it from")

    @pydantic.model_validator(mode="after")
    def _interpreter_is_named(self) -> "EnvironmentSpec":
        if self.kind == "interpreter" and self.python is None:
            raise ValueError("kind 'interpreter' needs python = \"/path/to/python\"")
        return self


class Config(_Table):
    """The whole file."""

    version: Literal[1]
    default_suite: str
    adapter_paths: tuple[str, ...] = pydantic.Field((), description="folders of further adapters, relative to this file")
    environments: dict[str, EnvironmentSpec] = {}
    suites: dict[str, Suite] = pydantic.Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _default_exists(self) -> "Config":
        if self.default_suite not in self.suites:
            raise ValueError(f"default_suite: {unknown('suite', self.default_suite, self.suites)}")
        return self


class Source(pydantic.BaseModel):
    """A configuration and the file that it came from."""

    path: Path
    config: Config

    def adapter_folders(self) -> list[Path]:
        return [(self.path.parent / folder).resolve() for folder in self.config.adapter_paths]


def load(path: Path | None = None) -> Source:
    """Read ``path``, else ``benchmarks.toml`` in the current folder, else the one that ships."""
    if path is not None and not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    if path is None:
        here = Path("benchmarks.toml")
        path = here if here.is_file() else paths.shipped() / "benchmarks.toml"
    return Source(path=path, config=toml.load(path, Config))


def schema() -> str:
    """The JSON schema of benchmarks.toml, as benchmarks.schema.json holds it."""
    return json.dumps(Config.model_json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(schema(), end="")
