"""Reading a TOML file into a model, with errors that name file, field, value and what is allowed."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

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
        raise UserError(explain(str(path), model, error))


def explain(source: str, model: type[pydantic.BaseModel], error: pydantic.ValidationError) -> str:
    """Return a line for each field of ``source`` that is wrong. A list that is short of the items found wrong is not news."""
    faults = error.errors()
    places = [fault["loc"] for fault in faults]
    own = [f for f in faults if not (f["type"] == "too_short" and any(p[: len(f["loc"])] == f["loc"] and p != f["loc"] for p in places))]
    return "\n".join(_sentence(source, model, fault) for fault in own)


def _sentence(path: str, model: type[pydantic.BaseModel], fault: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    if fault["type"] == "extra_forbidden":
        field = str(fault["loc"][-1])
        return f"{path}: {place}: {unknown('field here', field, _fields(model, fault['loc'][:-1]))}"
    if fault["type"] == "missing":
        return f"{path}: {place} is missing."
    message = fault["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{path}: {place} is {fault['input']!r}: {message}." if place else f"{path}: {message}."


def _fields(model: type[pydantic.BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The fields of the table at ``location``, following nested models, dictionaries and tuples of models."""
    current, is_key = model, False
    for part in location:
        if is_key:  # of a dictionary, or an index: the model inside was chosen by the step before
            is_key = False
            continue
        annotation = current.model_fields[str(part)].annotation
        inner = _model_in(annotation)
        if inner is None:
            return []
        current, is_key = inner, annotation is not inner
    return list(current.model_fields)


def _model_in(annotation: object) -> type[pydantic.BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
