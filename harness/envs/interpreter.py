"""An interpreter that exists already: a cluster's module, a container's stack. Nothing is installed."""

import json
import subprocess
from pathlib import Path

from harness.adapters import Adapter
from harness.envs.base import EnvFailed
from harness.envs.process import ProcessEnvironment

PROBE = """
import json, sys
found = {"python": sys.version.split()[0], "executable": sys.executable}
for name in ("numpy", "pluggy"):
    try:
        found[name] = __import__(name).__version__
    except ImportError:
        found[name] = None
try:
    from importlib.metadata import distributions
    found["packages"] = sorted("%s==%s" % (d.metadata["Name"], d.version) for d in distributions())
except ImportError:  # before Python 3.8
    from pkg_resources import working_set
    found["packages"] = sorted("%s==%s" % (d.project_name, d.version) for d in working_set)
print(json.dumps(found))
"""


def provide(adapter: Adapter, python: str) -> ProcessEnvironment:
    """Return the environment of ``python`` once it has answered; raise ``EnvFailed`` for one that cannot run a worker."""
    what = f"environments.{adapter.name}.python is '{python}', which does not answer as a Python"
    try:
        path = Path(python).expanduser()
        done = subprocess.run([str(path), "-E", "-s", "-c", PROBE], capture_output=True, text=True, check=False, timeout=60)
        found = json.loads(done.stdout)
    except ValueError:  # it printed something else
        raise EnvFailed(f"{what}: {' '.join(done.stderr.split())[:200] or 'it printed something else'}")
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        raise EnvFailed(f"{what}: {error}")
    missing = [name for name in ("numpy", "pluggy") if found[name] is None]
    if missing:
        raise EnvFailed(f"{python} lacks {' and '.join(missing)}, which every worker needs: install them there")
    return ProcessEnvironment(adapter=adapter.name, kind="interpreter", python=path, fingerprint=found)
