"""Getting all environments of a plan, several at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from harness.adapters import Adapter
from harness.config import EnvironmentSpec, Places, in_bytes
from harness.envs import container, interpreter, venv
from harness.envs.base import EnvFailed, Environment
from harness.envs.process import ProcessEnvironment

Need = tuple[str, str]  # adapter and kind of device
Outcome = Environment | EnvFailed


def provide(adapter: Adapter, kind: str, places: Places) -> Outcome:
    """Return the environment, or the failure as a value: one framework's trouble must not stop the others."""
    spec = places.environments.get(adapter.name, EnvironmentSpec())
    try:
        if spec.kind == "interpreter":
            assert spec.python is not None
            return _limited(interpreter.provide(adapter, spec.python), places.memory)
        if adapter.environment_kind(kind, spec) == "container":
            memory = places.containers.memory or places.memory
            return container.provide(adapter, kind, spec, places.containers.model_copy(update={"memory": memory}))
        return _limited(venv.provide(adapter, kind, spec.python), places.memory)
    except EnvFailed as failure:
        return failure


def _limited(environment: ProcessEnvironment, memory: str | None) -> ProcessEnvironment:
    return environment if memory is None else environment.model_copy(update={"memory": in_bytes(memory)})


def provide_all(
    needs: Iterable[Need], adapters: dict[str, Adapter], places: Places, done: Callable[[Need, Outcome], None]
) -> dict[Need, Outcome]:
    """Provide every environment in parallel, calling ``done`` from this thread as each is there or has failed."""
    outcomes: dict[Need, Outcome] = {}
    with ThreadPoolExecutor(max_workers=4) as pool:
        pending = {pool.submit(provide, adapters[name], kind, places): (name, kind) for name, kind in needs}
        for future in as_completed(pending):
            need = pending[future]
            outcomes[need] = future.result()
            done(need, outcomes[need])
    return outcomes
