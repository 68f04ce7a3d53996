"""Python types as types of a graph: what a field declares, and what a part of a value is."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from .refusal import refuse


class Unknown:
    """The type of a value whose type nothing has said yet."""


def is_optional(annotation: Any) -> bool:
    """Whether null is a value of the type."""
    if annotation in (Any, None, type(None)):
        return True
    return get_origin(annotation) in (Union, types.UnionType) and type(None) in get_args(annotation)


def without_null(annotation: Any) -> Any:
    """`T` of `Optional[T]`."""
    members = [member for member in get_args(annotation) if member is not type(None)]
    return members[0] if is_optional(annotation) and len(members) == 1 else annotation


def is_class(annotation: Any) -> bool:
    """Whether the type is a pydantic model, optional or not."""
    inner = without_null(annotation)
    return inspect.isclass(inner) and issubclass(inner, BaseModel)


def may_be_none(annotation: Any) -> bool:
    """Whether the type says that a value may be `None`."""
    return annotation not in (Any, Unknown) and is_optional(annotation)


def is_enum(annotation: Any) -> bool:
    """Whether values are members of an enum."""
    return inspect.isclass(annotation) and issubclass(annotation, Enum)


def values_of(annotation: Any) -> list[Any] | None:
    """All values of a type that has few: members of an enum, literals, `True` and `False`."""
    if is_enum(annotation):
        return list(annotation)
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [True, False] if annotation is bool else None


def list_of(kind: Any) -> Any:
    """The type of lists of a type."""
    return list[kind]


def is_tuple(annotation: Any) -> bool:
    """Whether values are tuples of a known length."""
    inner = without_null(annotation)
    return get_origin(inner) is tuple and ... not in get_args(inner)


def is_json(annotation: Any) -> bool:
    """Whether Python holds a value of the type as it reads JSON: no classes, members of enums, sets or tuples."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return not any(is_enum(type(member)) for member in arguments)
    if origin in (Union, types.UnionType, list, dict):
        return all(is_json(argument) for argument in arguments)
    return annotation in (str, int, float, bool, list, dict, type(None), None, Any, Unknown)


def is_text(annotation: Any) -> bool:
    """Whether values are texts in Python. Members of an enum are, if the enum is a subclass of `str`."""
    inner = without_null(annotation)
    if is_enum(inner):
        return issubclass(inner, str)
    if get_origin(inner) is Literal:
        return all(isinstance(member, str) for member in get_args(inner))
    return inner in (str, Unknown)


def is_delimited(annotation: Any) -> bool:
    """Whether the JSON of every value of the type is a value of it and of nothing else, such as a text."""
    return annotation in (int, float, bool) or (
        not is_optional(annotation) and (is_list(annotation) or is_dict(annotation) or is_class(annotation))
    )


def is_dict(annotation: Any) -> bool:
    """Whether values are dicts."""
    inner = without_null(annotation)
    return inner is dict or get_origin(inner) in (dict, Mapping)


def is_number(annotation: Any) -> bool:
    """Whether values are numbers."""
    return annotation in (int, float)


def is_list(annotation: Any) -> bool:
    """Whether values are lists."""
    return without_null(annotation) is list or get_origin(without_null(annotation)) in (list, set, frozenset, Sequence)


def field_of(annotation: Any, name: str) -> Any:
    """The type of a member of a class."""
    model = without_null(annotation)
    if name not in model.model_fields:
        refuse(f"`{model.__name__}` has no field `{name}`")
    return model.model_fields[name].annotation


def element_of(annotation: Any, index: int | None = None) -> Any:
    """The type of the elements of a list or the values of a dict; `Any` where the type does not say."""
    inner = without_null(annotation)
    arguments = get_args(inner)
    if get_origin(inner) is tuple:
        return _element_of_tuple(arguments, index)
    if get_origin(inner) in (dict, Mapping) and len(arguments) == 2:
        return arguments[1]
    return arguments[0] if is_list(inner) and arguments else Any


def _element_of_tuple(members: tuple[Any, ...], index: int | None) -> Any:
    if members[1:] == (...,):
        return members[0]
    return members[index] if index is not None and -len(members) <= index < len(members) else Any


def schema_of(annotation: Any) -> Any:
    """The type as the API takes it: a JSON Schema, or the short form of a scalar."""
    if annotation in (str, Unknown, inspect.Parameter.empty):
        return "str"
    if annotation is bytes:
        return "bytes"
    try:
        schema = _named(annotation) if is_enum(annotation) else TypeAdapter(annotation).json_schema()
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        refuse(f"the type {plain(annotation)} has no JSON Schema: {str(error).splitlines()[0]}")
    return schema if schema else "any"


def _named(annotation: Any) -> Any:
    """The schema with the enum as a definition, so that it is the same type wherever it is used."""
    schema = TypeAdapter(list[annotation]).json_schema()
    return {**schema["items"], "$defs": schema["$defs"]}


def plain(annotation: Any) -> str:
    """The type as people write it."""
    if annotation is Unknown:
        return "str"
    if get_origin(annotation) is None and inspect.isclass(annotation):
        return annotation.__name__
    return re.sub(r"(?<![\w.'\"])(?:[A-Za-z_]\w*\.)+(\w+)", r"\1", str(annotation))


def plural(annotation: Any) -> str:
    """How a sentence calls the value: `a str`, `an int`."""
    name = plain(annotation)
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} `{name}`"
