"""What pydantic checks beside a type and a graph does not: validators, unknown members and formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.functional_validators import AfterValidator, BeforeValidator, PlainValidator, WrapValidator

from .note import Note
from .text_objects import text_type

VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)
#: settings of a model that change or check values
SETTINGS = ("strict", "str_to_lower", "str_to_upper", "str_strip_whitespace", "str_min_length", "str_max_length")

#: what replaces a validator
CHECKS = "Use constraints of `Field`, or decide by the value in `forward`."


def notes_of_types(signature: Any) -> list[Note]:
    """A sentence for everything that DSPy checks in the outputs and a graph does not."""
    found: list[Note] = []
    for name, info in signature.output_fields.items():
        if text_type(info.annotation) is not None:
            continue
        if any(isinstance(check, VALIDATORS) for check in info.metadata):
            found.append(Note(f"the validators of `{name}` are left out", CHECKS))
        found += _of_format(f"`{name}`", _schema(info.annotation))
        for model in _models(info.annotation, set()):
            found += _of_model(model)
    return list(dict.fromkeys(found))


def _of_model(model: type[BaseModel]) -> Iterator[Note]:
    checks = model.__pydantic_decorators__
    named = [*checks.field_validators, *checks.model_validators, *checks.validators, *checks.root_validators]
    if named:
        listed = ", ".join(f"`{name}`" for name in named)
        yield Note(f"the validators of `{model.__name__}` are left out: {listed}", CHECKS)
    if (extra := model.model_config.get("extra")) in ("allow", "forbid"):
        what = "are dropped" if extra == "allow" else "do not fail an answer"
        way_out = "Declare the members." if extra == "allow" else "Remove `extra='forbid'`."
        yield Note(f"members that `{model.__name__}` does not declare (`extra='{extra}'`) {what}", way_out)
    if settings := [name for name in SETTINGS if model.model_config.get(name)]:
        listed = ", ".join(f"`{name}`" for name in settings)
        what = f"settings of `{model.__name__}` are left out: {listed}"
        yield Note(what, "Remove them, or use constraints of `Field`.")
    for name, info in model.model_fields.items():
        if any(isinstance(check, VALIDATORS) for check in info.metadata):
            yield Note(f"the validators of `{model.__name__}.{name}` are left out", CHECKS)
        yield from _of_format(f"`{model.__name__}.{name}`", _schema(info.annotation))


def _of_format(label: str, schema: Any) -> Iterator[Note]:
    for kind in sorted(set(_formats(schema))):
        yield Note(f"the format `{kind}` of {label} is not checked: it is a text in the graph", "Declare it as `str`.")


def _formats(schema: Any) -> Iterator[str]:
    """The formats of texts in a schema, without those of other classes in it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("format"), str) and schema.get("type") == "string" and schema["format"] != "binary":
            yield schema["format"]
        for name, part in schema.items():
            if name not in ("$defs", "properties"):
                yield from _formats(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _formats(part)


def _schema(annotation: Any) -> Any:
    try:
        return TypeAdapter(annotation).json_schema()
    except (PydanticInvalidForJsonSchema, PydanticUserError):
        return {}


def _models(annotation: Any, seen: set[Any]) -> Iterator[type[BaseModel]]:
    """The classes in a type, those in their fields included."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation not in seen:
            seen.add(annotation)
            yield annotation
            for info in annotation.model_fields.values():
                yield from _models(info.annotation, seen)
        return
    for argument in get_args(annotation):
        yield from _models(argument, seen)
