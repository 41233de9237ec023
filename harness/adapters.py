"""The adapter registry: finding adapters, reading their manifests and known gaps. Nothing of an adapter is imported."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pydantic
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness import paths, toml
from harness.config import EnvironmentSpec, Mode, Precision
from harness.errors import UserError


class DeviceSpec(pydantic.BaseModel):
    """How an adapter's environment is made for one kind of device."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    lock: str
    fallback_index: str | None = None
    containerfile: str | None = None  # with it the environment is an image, unless the user says otherwise
    disk_mib: int | None = pydantic.Field(None, ge=1, strict=True)  # that the environment takes, to be looked for before installing


class Gap(pydantic.BaseModel):
    """A known gap: what is given must all match a cell for it to be N/A for ``reason``."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    reason: str
    op: str | None = None
    model: str | None = None
    mode: Mode | None = None
    device: str | None = None
    precision: Precision | None = None
    variant: str | None = None


class Gaps(pydantic.BaseModel):
    """The file gaps.toml."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    gaps: tuple[Gap, ...] = ()


class Manifest(pydantic.BaseModel):
    """The file manifest.toml: what an adapter is and what its environment needs."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    name: str = pydantic.Field(pattern=r"^[a-z][a-z0-9_-]*$")
    title: str
    package: str = pydantic.Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    python: str
    variants: tuple[str, ...] = pydantic.Field(min_length=1)
    precisions: tuple[Precision, ...] = pydantic.Field(min_length=1)
    gates: tuple[Literal["fp64", "fp32"], ...] = pydantic.Field(min_length=1)
    devices: dict[Literal["cpu", "cuda"], DeviceSpec] = pydantic.Field(min_length=1)

    @pydantic.field_validator("python")
    @classmethod
    def _is_range(cls, text: str) -> str:
        try:
            SpecifierSet(text)
        except InvalidSpecifier:
            raise ValueError('write a range of versions, for example ">=3.8,<3.12"')
        return text


class Adapter(pydantic.BaseModel):
    """One adapter: its folder, manifest and gaps."""

    model_config = pydantic.ConfigDict(frozen=True)

    folder: Path
    manifest: Manifest
    gaps: tuple[Gap, ...]

    @property
    def name(self) -> str:
        return self.manifest.name

    def lock(self, kind: str) -> Path:
        """The lock file for a kind of device that the manifest names."""
        return self.folder / self.manifest.devices[kind].lock  # type: ignore[index]  # callers pass a kind from the manifest

    def containerfile(self, kind: str) -> Path | None:
        """The Containerfile for a kind of device that the manifest names, where there is one."""
        name = self.manifest.devices[kind].containerfile  # type: ignore[index]  # as above
        return None if name is None else self.folder / name

    def environment_kind(self, kind: str, spec: EnvironmentSpec) -> str:
        """What the adapter runs in on that kind of device: what the user says, else what the manifest says."""
        return spec.kind or ("venv" if self.containerfile(kind) is None else "container")


def load(folder: Path) -> Adapter:
    """Read the adapter in ``folder``; raise ``UserError`` where its files are wrong."""
    manifest = toml.load(folder / "manifest.toml", Manifest)
    gaps = toml.load(folder / "gaps.toml", Gaps).gaps if (folder / "gaps.toml").exists() else ()
    if not (folder / manifest.package).is_dir():
        raise UserError(f"{folder / 'manifest.toml'}: package is '{manifest.package}', but there is no such folder beside it.")
    for kind, spec in manifest.devices.items():
        for field, name in (("lock", spec.lock), ("containerfile", spec.containerfile)):
            if name is not None and not (folder / name).is_file():
                raise UserError(f"{folder / 'manifest.toml'}: devices.{kind}.{field} is '{name}', which does not exist.")
    return Adapter(folder=folder, manifest=manifest, gaps=gaps)


def discover(extra: Iterable[Path] = ()) -> dict[str, Adapter]:
    """Return adapters by name: those that ship, and those in the folders named. A name taken twice is an error."""
    found: dict[str, Adapter] = {}
    shipped = sorted(path.parent for path in (paths.shipped() / "adapters").glob("*/manifest.toml"))
    for folder in [*shipped, *extra]:
        adapter = load(folder)
        if adapter.name in found:
            raise UserError(f"Two adapters are called '{adapter.name}': {found[adapter.name].folder} and {folder}. Rename one.")
        found[adapter.name] = adapter
    return found


def pinned_version(adapter: Adapter, kind: str) -> str:
    """The framework release that the lock pins: its first requirement in the .in file beside it."""
    source = adapter.lock(kind).with_suffix(".in")
    if not source.is_file():
        return "?"
    lines = [line for line in source.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return lines[0] if lines else "?"
