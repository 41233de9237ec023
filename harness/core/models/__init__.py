"""The models, one file each, written once in neutral ops."""

from typing import Dict

from harness.core.models import alexnet, gnmt, mobilenet, ncf, nin, resnet, style, vgg
from harness.core.models.base import Fixture, Model

MODELS: Dict[str, Model] = {model.name: model for file in (alexnet, vgg, resnet, mobilenet, nin, gnmt, ncf, style) for model in file.MODELS}

__all__ = ["MODELS", "Fixture", "Model"]
