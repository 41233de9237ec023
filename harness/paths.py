"""Where things are: what ships with the harness, and the folders it may write to."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from harness.errors import UserError

PACKAGE = Path(__file__).resolve().parent


def shipped() -> Path:
    """The folder with ``adapters/`` and ``benchmarks.toml``: inside an installed wheel, or the checkout itself."""
    inside = PACKAGE / "shipped"
    return inside if inside.is_dir() else PACKAGE.parent


def cache() -> Path:
    """The cache folder for environments and staged code: ``HARNESS_CACHE``, or the user's own cache folder."""
    named = os.environ.get("HARNESS_CACHE")
    if named:
        return _expanded("HARNESS_CACHE", named).resolve()
    import platformdirs

    folder = _at_home(platformdirs.user_cache_path)
    if folder is None:
        raise UserError("There is no home folder to keep environments in. Set HARNESS_CACHE to a folder for them.")
    return folder


def _at_home(kind: Callable[[str], Path]) -> Path | None:
    """A folder of the user's, if the user has a home: not so in some containers."""
    try:
        folder = kind("framework-harness")
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None  # older libraries leave the ~ as it is


def user_config() -> Path | None:
    """The user's own file of facts about this host: ``HARNESS_CONFIG``, or ``config.toml`` in the user's configuration folder."""
    named = os.environ.get("HARNESS_CONFIG")
    if named:
        return _expanded("HARNESS_CONFIG", named)
    import platformdirs

    folder = _at_home(platformdirs.user_config_path)
    return None if folder is None else folder / "config.toml"


def runs() -> Path:
    """The folder that holds a folder for each run: ``HARNESS_RUNS``, or ``runs`` where the command was typed."""
    return _expanded("HARNESS_RUNS", os.environ.get("HARNESS_RUNS", "runs"))


def _expanded(variable: str, text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UserError(f"{variable} is '{text}': {error}")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that whoever finds it finds all of it; raise ``OSError``."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
