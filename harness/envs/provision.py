"""Getting all environments of a plan, several at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from harness.adapters import Adapter
from harness.config import EnvironmentSpec, Places
from harness.envs import container, interpreter, venv
from harness.envs.base import EnvFailed, Environment

Need = tuple[str, str]  # adapter and kind of device
Outcome = Environment | EnvFailed


def provide(adapter: Adapter, kind: str, places: Places) -> Outcome:
    """Return the environment, or the failure as a value: one framework's trouble must not stop the others."""
    spec = places.environments.get(adapter.name, EnvironmentSpec())
    try:
        if spec.kind == "interpreter":
            assert spec.python is not None
            return interpreter.provide(adapter, spec.python)
        if adapter.environment_kind(kind, spec) == "container":
            return container.provide(adapter, kind, spec, places.containers)
        return venv.provide(adapter, kind, spec.python)
    except EnvFailed as failure:
        return failure


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
