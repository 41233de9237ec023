"""Adapters are checked at the door, by name, before any work."""

import inspect
import types

import pytest

from harness.core import hookimpl, hookspecs, plugin
from harness.core.errors import ContractError

from . import numpy_adapter


def adapter(**changes):
    """Return a module with the honest hooks, some of them replaced, or left out where None."""
    hooks = {name: getattr(numpy_adapter, name) for name in hookspecs.REQUIRED_HOOKS}
    hooks.update(changes)
    module = types.ModuleType("adapter")
    module.__dict__.update((name, hook) for name, hook in hooks.items() if hook is not None)
    return module


def refusal(module):
    with pytest.raises(ContractError) as error:
        plugin.bind(module, "acme")
    message = str(error.value)
    assert message.startswith("adapter 'acme'")
    assert "docs/hooks.md" in message
    return message


@pytest.mark.parametrize("honest", [numpy_adapter, numpy_adapter.NumpyAdapter()], ids=["module", "object"])
def test_an_honest_adapter_binds_to_its_own_functions(honest):
    hooks = plugin.bind(honest, "numpy")
    names = hookspecs.REQUIRED_HOOKS
    assert {name: getattr(hooks, name) for name in names} == {name: getattr(honest, name) for name in names}
    assert hooks.peak_memory("session") is None  # the one that may be left out


def test_hooks_and_specifications_are_the_same_list():
    specs = [name for name, value in vars(hookspecs).items() if inspect.isfunction(value) and value.__module__ == hookspecs.__name__]
    assert sorted(specs) == sorted(hookspecs.REQUIRED_HOOKS + hookspecs.OPTIONAL_HOOKS) == sorted(plugin.Hooks._fields)
    assert all(getattr(hookspecs, name).__doc__ for name in specs)


@pytest.mark.parametrize("hook", hookspecs.REQUIRED_HOOKS)
def test_a_missing_hook_is_named(hook):
    assert refusal(adapter(**{hook: None})) == f"adapter 'acme' has no hook '{hook}'. See docs/hooks.md#{hook}."


@pytest.mark.parametrize("hook", hookspecs.REQUIRED_HOOKS)
def test_a_hook_without_its_marker_is_missing(hook):
    def unmarked(*args):
        raise AssertionError("never called")

    assert f"has no hook '{hook}'" in refusal(adapter(**{hook: unmarked}))


def test_a_misspelled_hook_is_named():
    @hookimpl
    def trian_step(session, batch):
        raise AssertionError("never called")

    assert "trian_step" in refusal(adapter(trian_step=trian_step))
    assert "trian_step" in refusal(adapter(trian_step=trian_step, train_step=None))


def test_a_wrong_argument_name_is_refused():
    @hookimpl
    def train_step(sess, batch):
        raise AssertionError("never called")

    message = refusal(adapter(train_step=train_step))
    assert "train_step" in message
    assert "sess" in message


def test_too_few_arguments_are_refused():
    @hookimpl
    def train_step(session):
        raise AssertionError("never called")

    assert refusal(adapter(train_step=train_step)) == (
        "adapter 'acme': hook 'train_step' must take (session, batch). See docs/hooks.md#train_step."
    )


def test_arguments_in_the_wrong_order_are_refused():
    @hookimpl
    def train_step(batch, session):
        raise AssertionError("never called")

    assert "hook 'train_step' must take (session, batch)" in refusal(adapter(train_step=train_step))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make the numpy adapter importable as a package of its own, with a native twin beside it."""
    folder = tmp_path / "acme_adapter"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "adapter.py").write_text(inspect.getsource(numpy_adapter))
    (folder / "native.py").write_text("def build_native(graph, weights, request):\n    return 'native'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "acme_adapter"


def test_load_imports_the_adapter_module_of_a_package(package):
    hooks = plugin.load(package, "acme")
    assert hooks.build_model.__module__ == "acme_adapter.adapter"


def test_load_takes_native_models_from_the_native_module_and_nothing_else(package):
    lowered, native = plugin.load(package, "acme"), plugin.load(package, "acme", native=True)
    assert native.build_model(None, None, None) == "native"
    assert native._replace(build_model=None) == lowered._replace(build_model=None)
