"""An interpreter that exists already: a cluster's module, a container's stack. Nothing is installed."""

import json
import subprocess
from pathlib import Path

from harness.adapters import Adapter
from harness.envs.base import EnvFailed, Environment

PROBE = """
import json, sys
found = {"python": sys.version.split()[0], "executable": sys.executable}
for name in ("numpy", "pluggy"):
    try:
        found[name] = __import__(name).__version__
    except ImportError:
        found[name] = None
print(json.dumps(found))
"""


def provide(adapter: Adapter, python: str) -> Environment:
    """Return the environment of ``python`` once it has answered; raise ``EnvFailed`` for one that cannot run a worker."""
    path = Path(python).expanduser()
    try:
        done = subprocess.run([str(path), "-E", "-s", "-c", PROBE], capture_output=True, text=True, check=False, timeout=60)
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise EnvFailed(f"environments.{adapter.name}.python is '{python}', which does not answer as a Python: {error}")
    missing = [name for name in ("numpy", "pluggy") if found[name] is None]
    if missing:
        raise EnvFailed(f"{python} lacks {' and '.join(missing)}, which every worker needs: install them there")
    return Environment(adapter=adapter.name, kind="interpreter", python=path, fingerprint=found)
