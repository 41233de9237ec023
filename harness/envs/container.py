"""Containers: a worker in an image that the harness builds for an adapter, or in one that the user names."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import devices, hostinfo
from harness.adapters import Adapter
from harness.config import Containers, EnvironmentSpec
from harness.envs import engine as engines
from harness.envs import image
from harness.envs.base import ISOLATED, Death, EnvFailed, Environment, Launch, thread_variables
from harness.envs.engine import Engine
from harness.envs.interpreter import PROBE
from harness.statuses import Status

GRACE = 2.0  # seconds between the end of a worker's input and SIGKILL
PROBE_LIMIT = 300.0  # seconds; the first start of an image of many gigabytes can take minutes
OWNER = "framework-harness.owner"  # the label that tells whose a container is

# All of the host's variables that a worker in a container sees: its paths, home and locale are the image's own.
PASSED = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "TZ")

# Starts the engine's client such that the kernel kills it with this process. 1 is PR_SET_PDEATHSIG, see prctl(2).
TIED = "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, signal.SIGKILL); os.execv(sys.argv[1], sys.argv[1:])"

# From the engines' documentation; not tried on a host that has both an engine and a GPU. All GPUs, since a cell counts or names
# them as the host does; CUDA_VISIBLE_DEVICES comes along.
GPUS = {"podman": ("--device", "nvidia.com/gpu=all"), "docker": ("--gpus", "all")}


class ContainerEnvironment(Environment):
    """An image and the engine that runs it."""

    engine: Engine
    image: str

    def launch(self, staged: Path, cpus: list[int], device: str) -> Launch:
        keeper = Container(self.engine, new_name())
        inside = {name: os.environ[name] for name in PASSED if name in os.environ}
        inside |= devices.variables(device) | thread_variables(len(cpus))
        options = ["--volume", f"{staged}:/staged:ro", *(f"--env={name}={value}" for name, value in inside.items())]
        if devices.kind(device) == "cuda":
            options += GPUS[self.engine.name]
        run = run_command(self.engine, keeper.name, cpus, options, self.image, [str(self.python), *ISOLATED, "/staged"])
        # The client needs the user's own variables to find engine and storage. None of them reaches the worker.
        return Launch([sys.executable, "-I", "-S", "-c", TIED, *run], dict(os.environ), keeper)


class Container:
    """Keeps a worker that is the first process of a container."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        self._parked = False

    def park(self, process: "subprocess.Popen[bytes]") -> None:
        self._freeze("pause", process)
        self._parked = True

    def wake(self, process: "subprocess.Popen[bytes]") -> None:
        if self._parked:
            self._freeze("unpause", process)
            self._parked = False

    def _freeze(self, action: str, process: "subprocess.Popen[bytes]") -> None:
        try:
            self.engine.ask(action, self.name)
        except EnvFailed:
            try:
                process.wait(GRACE)  # where the container is gone, its client is about to tell how it died: no news here
            except subprocess.TimeoutExpired:
                pass
            else:
                return
            raise

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """End of input, a moment of grace, removal. A container's first process would not hear a SIGTERM."""
        with contextlib.suppress(EnvFailed):
            self.wake(process)
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        with contextlib.suppress(EnvFailed):  # what could not be removed now is removed before the next run
            remove(self.engine, self.name)
        process.kill()
        process.wait()

    def death(self, code: int) -> Death:
        """The client's exit code is the worker's, 128 + N where signal N killed it, and the engine's own from 125 to 127."""
        if code == 128 + signal.SIGKILL:  # nobody else sends it: the harness asks no more of a worker that it has ended
            limit = memory(self.engine)
            return Death(Status.OOM, f"killed (exit code 137) as the kernel does beyond the container's memory limit, which is {limit}")
        if code in (125, 126, 127):
            return Death(Status.ENV_FAILED, f"not started by {self.engine.name} (exit code {code})")
        number = code - 128 if code > 128 else -code
        if number in set(signal.Signals):
            return Death(Status.CRASHED, f"killed by signal {number} ({signal.Signals(number).name})")
        return Death(Status.CRASHED, f"ended with exit code {code}")


def memory(engine: Engine) -> str:
    """The memory limit of a container."""
    return engine.settings.memory or f"{hostinfo.granted_memory()}b"


def new_name() -> str:
    return f"framework-harness-{os.getpid()}-{secrets.token_hex(4)}"


def run_command(engine: Engine, name: str, cpus: list[int], options: list[str], reference: str, command: list[str]) -> list[str]:
    """Return the client's argument list: no network, nothing to write to but /tmp, no privilege, the CPUs and memory granted."""
    limit = memory(engine)
    confined = [
        *("--interactive", "--rm", "--pull=never", "--network=none"),
        *("--read-only", "--tmpfs=/tmp:exec", "--env=HOME=/tmp"),  # compilers put libraries there and load them
        *("--cap-drop=all", "--security-opt=no-new-privileges"),
        f"--cpuset-cpus={','.join(map(str, cpus))}",
        *(f"--memory={limit}", f"--memory-swap={limit}"),  # the same: a worker that swaps would be timed swapping
        "--log-driver=none",  # standard error comes to the harness's log already
        *(["--http-proxy=false"] if engine.name == "podman" else []),  # podman hands the host's proxies in unless told not to
        *(f"--name={name}", f"--label={OWNER}={owner(os.getpid())}"),
    ]
    return engine.command("run", *confined, *options, *engine.settings.run_flags, reference, *command)


def provide(adapter: Adapter, kind: str, spec: EnvironmentSpec, settings: Containers) -> ContainerEnvironment:
    """Return the environment once its image is there and has answered; raise ``EnvFailed``."""
    engine = engines.find(settings)
    if engine is None:
        raise EnvFailed(f"{adapter.manifest.title} runs in a container and {engines.missing(settings)}")
    reap(engine)
    if spec.image is None and adapter.containerfile(kind) is None:
        raise EnvFailed(f"environments.{adapter.name} has kind 'container', but the adapter has no Containerfile for {kind}: name an image")
    reference = spec.image or image.provide(engine, adapter, kind)
    identity = image.identity(engine, reference)
    if identity is None:
        raise EnvFailed(f"the image {reference} is not on this host: get it with `{engine.name} pull {reference}`")
    python = spec.python or "python"
    found = probe(engine, identity, python, called=reference)
    lacking = [name for name in ("numpy", "pluggy") if found[name] is None]
    if lacking:
        raise EnvFailed(f"the image {reference} lacks {' and '.join(lacking)}, which every worker needs: make one FROM it that has them")
    told = {"image": reference, "image_id": identity, "engine": engine.name, "engine_version": engine.version(), "memory": memory(engine)}
    return ContainerEnvironment(
        adapter=adapter.name, kind="container", python=Path(python), fingerprint={**told, **found}, engine=engine, image=identity
    )


def probe(engine: Engine, reference: str, python: str = "python", called: str = "") -> dict[str, Any]:
    """Ask an image's Python what it has, in a container like a worker's: an engine that cannot start one shows here."""
    name, who = new_name(), f"{python} in the image {called or reference}"
    run = run_command(engine, name, hostinfo.granted_cpus(), [], reference, [python, *ISOLATED, "-c", PROBE])
    try:
        done = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PROBE_LIMIT, cwd="/")
    except subprocess.TimeoutExpired:
        remove(engine, name)
        raise EnvFailed(f"{who} did not answer within {PROBE_LIMIT:.0f} s")
    except OSError as error:
        raise EnvFailed(f"{engine.path} cannot be started: {error.strerror}")
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = " ".join(done.stderr.strip().splitlines()[-2:])
        raise EnvFailed(f"{who} does not answer as a Python: {last or f'exit code {done.returncode}'}")
    return found


def remove(engine: Engine, name: str) -> None:
    """Kill and delete a container, paused or not. One that is gone already is no failure."""
    engine.ask("rm", "--force", *(("--ignore", "--time=0") if engine.name == "podman" else ()), name)


def owner(pid: int) -> str:
    """What a container's label says of the harness that started it: host, process namespace, process and its start.

    A process number alone would be taken again one day; the start is in ticks since boot.
    """
    start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]  # see proc(5); the name before may hold anything
    return f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')}/{pid}/{start}"  # noqa: PTH115 - not a path


def reap(engine: Engine) -> None:
    """Remove what killed runs on this host left: their paused containers hold memory and could not see the end."""
    here = owner(os.getpid()).rsplit("/", 2)[0]
    for name in engine.ask("ps", "--all", "--filter", f"label={OWNER}", "--format", "{{.Names}}").splitlines():
        with contextlib.suppress(EnvFailed):  # gone meanwhile
            label = engine.ask("inspect", "--format", f'{{{{index .Config.Labels "{OWNER}"}}}}', name)
            if label.startswith(here + "/") and not _is_alive(label):
                remove(engine, name)


def _is_alive(label: str) -> bool:
    try:
        return owner(int(label.split("/")[-2])) == label
    except OSError:
        return False
