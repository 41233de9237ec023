"""Where things are: what ships with the harness, and the folders it may write to."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def shipped() -> Path:
    """The folder with ``adapters/`` and ``benchmarks.toml``: inside an installed wheel, or the checkout itself."""
    inside = PACKAGE / "shipped"
    return inside if inside.is_dir() else PACKAGE.parent


def cache() -> Path:
    """The cache folder for environments and staged code: ``HARNESS_CACHE``, or the user's own cache folder."""
    named = os.environ.get("HARNESS_CACHE")
    if named:
        return Path(named).expanduser().resolve()
    import platformdirs

    return Path(platformdirs.user_cache_dir("framework-harness"))


def user_config() -> Path:
    """The user's own file of facts about this host: ``HARNESS_CONFIG``, or ``config.toml`` in the user's configuration folder."""
    named = os.environ.get("HARNESS_CONFIG")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return platformdirs.user_config_path("framework-harness") / "config.toml"


def runs() -> Path:
    """The folder that holds a folder for each run: ``HARNESS_RUNS``, or ``runs`` where the command was typed."""
    return Path(os.environ.get("HARNESS_RUNS", "runs")).expanduser()
