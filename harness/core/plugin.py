"""Finding one adapter's hooks and checking them at the door, before any work."""

import importlib
import inspect
from typing import Any, Callable, NamedTuple

import pluggy

from harness.core import hookspecs
from harness.core.errors import ContractError


class Hooks(NamedTuple):
    """An adapter's functions, bound for direct calls."""

    build_model: Callable[..., Any]
    stage_batch: Callable[..., Any]
    train_step: Callable[..., None]
    infer_step: Callable[..., None]
    sync_device: Callable[..., None]
    read_results: Callable[..., Any]
    read_weights: Callable[..., Any]
    describe: Callable[..., Any]
    peak_memory: Callable[..., Any]
    close_model: Callable[..., None]


def _uncounted(session: Any) -> None:
    """In place of a ``peak_memory`` that an adapter leaves out."""


def bind(plugin: Any, name: str) -> Hooks:
    """Return the hooks of ``plugin``; raise ``ContractError`` for one that is missing, misspelled or misdeclared."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise ContractError("adapter '%s': %s. See docs/hooks.md." % (name, error))
    bound = {"peak_memory": _uncounted}
    for hook in hookspecs.REQUIRED_HOOKS + hookspecs.OPTIONAL_HOOKS:
        implementations = getattr(manager.hook, hook).get_hookimpls()
        if not implementations and hook in hookspecs.OPTIONAL_HOOKS:
            continue
        if not implementations:
            raise ContractError("adapter '%s' has no hook '%s'. See docs/hooks.md#%s." % (name, hook, hook))
        function = implementations[0].function
        expected = list(inspect.signature(getattr(hookspecs, hook)).parameters)
        if list(inspect.signature(function).parameters) != expected:  # pluggy accepts fewer; direct calls do not
            raise ContractError("adapter '%s': hook '%s' must take (%s). See docs/hooks.md#%s." % (name, hook, ", ".join(expected), hook))
        bound[hook] = function
    return Hooks(**bound)


def load(package: str, name: str, native: bool = False) -> Hooks:
    """Import ``package.adapter`` and bind its hooks; with ``native``, models come from ``package.native`` instead."""
    hooks = bind(importlib.import_module(package + ".adapter"), name)
    if native:
        hooks = hooks._replace(build_model=importlib.import_module(package + ".native").build_native)
    return hooks
