"""DSPy signatures as signatures of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import dspy
from dspy.utils.constants import IS_TYPE_UNDEFINED
from pydantic_core import PydanticUndefined

from .annotation import schema_of
from .json_value import to_json
from .refusal import refuse
from .text_objects import attributes_of, plain_type

Field = dict[str, Any]


def extra(info: Any) -> dict[str, Any]:
    """What DSPy keeps beside a field."""
    return info.json_schema_extra or {}


def is_untyped(info: Any) -> bool:
    """Whether the signature names the field without a type, as `"question -> answer"` does."""
    return bool(extra(info).get(IS_TYPE_UNDEFINED, False))


def description(name: str, info: Any) -> str | None:
    """The description of a field, if somebody wrote one. DSPy's own default is `${name}`."""
    text = extra(info).get("desc")
    return None if not text or text.startswith("${") else str(text)


def field(name: str, info: Any, annotation: Any = None) -> Field:
    """One field: its name, type, description and default."""
    declared = info.annotation if annotation is None else annotation
    kind = plain_type(declared)
    if (found := next(_prompt_types((kind, *info.metadata)), None)) is not None:
        refuse(f"field `{name}` has the type `{found.__name__.split('[')[0]}` of DSPy, which a graph does not have")
    built: Field = {"name": name, "type": _schema(info, kind)}
    built |= attributes_of(name, declared, extra(info).get("__dspy_field_type") == "output")
    if (text := description(name, info)) is not None:
        built["description"] = text
    if info.default is not PydanticUndefined:
        built["default"] = to_json(info.default)
    return built


def inputs(signature: Any) -> dict[str, Any]:
    """The input fields by name."""
    return dict(signature.input_fields)


def outputs(signature: Any) -> dict[str, Any]:
    """The output fields by name."""
    return dict(signature.output_fields)


def _schema(info: Any, annotation: Any) -> Any:
    """The type with the limits that pydantic keeps beside it (`ge`, `max_length`)."""
    if not info.metadata:
        return schema_of(annotation)
    from typing import Annotated

    return schema_of(Annotated[(annotation, *info.metadata)])


def _prompt_types(annotations: Iterable[Any]) -> Iterator[type]:
    """The types in a field that DSPy writes into prompts in its own way."""
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, (dspy.Type, dspy.History)):
            yield annotation
        yield from _prompt_types(get_args(annotation))
