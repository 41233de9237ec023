"""Reading a TOML file into a model, with errors that name file, field, value and what is allowed."""

import tomllib
from pathlib import Path
from typing import TypeVar

import pydantic

from harness.errors import UserError
from harness.suggest import unknown

Model = TypeVar("Model", bound=pydantic.BaseModel)


def load(path: Path, model: type[Model]) -> Model:
    """Return ``path`` as a ``model``; raise ``UserError`` with every field that is wrong."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is no valid TOML: {error}.")
    try:
        return model.model_validate(document)
    except pydantic.ValidationError as error:
        raise UserError("\n".join(_sentence(path, model, fault) for fault in error.errors()))


def _sentence(path: Path, model: type[pydantic.BaseModel], fault: object) -> str:
    assert isinstance(fault, dict)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if fault["type"] == "extra_forbidden":
        field = str(fault["loc"][-1])
        return f"{path}: {place}: {unknown('field here', field, _fields(model, fault['loc'][:-1]))}"
    if fault["type"] == "missing":
        return f"{path}: {place} is missing."
    message = fault["msg"].removeprefix("Value error, ")
    return f"{path}: {place} is {fault['input']!r}: {message}."


def _fields(model: type[pydantic.BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The fields of the table at ``location``, following nested models, dictionaries and tuples of models."""
    current = model
    for part in location:
        field = current.model_fields.get(part) if isinstance(part, str) else None
        if field is None:
            continue  # a key of a dictionary or an index: the model inside was chosen by the step before
        inner = _model_in(field.annotation)
        if inner is None:
            return []
        current = inner
    return list(current.model_fields)


def _model_in(annotation: object) -> type[pydantic.BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
