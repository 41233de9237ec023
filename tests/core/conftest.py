import pytest

from harness.core.models import MODELS

from . import tiny


@pytest.fixture
def tiny_models(monkeypatch):
    """Make the tiny models known by name, as a job needs them."""
    for model in (tiny.MODEL, tiny.PLAIN):
        monkeypatch.setitem(MODELS, model.name, model)
