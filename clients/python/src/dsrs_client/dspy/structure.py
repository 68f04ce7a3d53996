"""Constants, dicts, lists and models with values of the run in them, as one text of JSON that is parsed."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, Optional, Union

import dspy
from pydantic import BaseModel, TypeAdapter

from .annotation import Unknown, is_enum, list_of, plain, without_null
from .computed import parsed, rendered_of
from .contents import Symbolic, holds_value
from .json_value import to_json
from .link import Link, Operation
from .refusal import op, refuse
from .value import Value, link_of

SCALARS = (str, int, float, bool)


def constant(value: Any) -> Link:
    """A constant of the program as a value."""
    if isinstance(value, str) and not isinstance(value, Enum):
        text = value.replace("{", "{{").replace("}", "}}")
        return Operation("render", {"fstring": text}, [], "text").link(str)
    return structured(value)


def structured(value: Any, annotation: Any = None) -> Link:
    """A constant, or a container with values of the run in it, as one value."""
    feeds: list[tuple[str, Link]] = []
    template = _json(value, feeds)
    kind = type_of(value) if annotation is None else annotation
    inner = [kind] if get_wrapped(kind) else kind
    text = rendered_of(f"[{template}]" if isinstance(inner, list) else template, feeds)
    if isinstance(inner, list):
        return parsed(text, list_of(kind)).element(0, kind)
    return parsed(text, kind)


def get_wrapped(kind: Any) -> bool:
    """Whether JSON alone would be taken for a text: texts and what may be one."""
    from .annotation import is_delimited

    return not is_delimited(kind)


def record_of(model: type[BaseModel], fields: dict[str, Any]) -> Value:
    """A pydantic model of values that have the types of its fields; pydantic converts nothing in a graph."""
    names = {info.alias or name: name for name, info in model.model_fields.items()}
    for alias in fields:
        if alias not in names:
            refuse(f"makes a `{model.__name__}` with `{alias}`, which is no field of it", op("collect"))
    given: dict[str, Any] = {}
    for alias, name in names.items():
        info = model.model_fields[name]
        if alias not in fields:
            if info.is_required():
                raise TypeError(f"`{model.__name__}` needs `{alias}`")
            continue
        given[alias] = _field(model, name, info.annotation, fields[alias])
    defaults = {
        alias: model.model_fields[name].get_default(call_default_factory=True)
        for alias, name in names.items()
        if alias not in fields
    }
    return Value(structured({**given, **defaults}, model))


def _field(model: type[BaseModel], name: str, declared: Any, given: Any) -> Any:
    """The value of a field: a constant as pydantic reads it, a value of the run only if it has the type."""
    if not holds_value(given):
        return TypeAdapter(declared).validate_python(given)
    kind = type_of(given)
    if repr(kind) not in (repr(declared), repr(without_null(declared))) and declared is not Any:
        what = f"makes a `{model.__name__}` whose `{name}` is `{plain(declared)}` of a `{plain(kind)}`"
        refuse(f"{what}, which pydantic may convert", op("coerce"))
    return given


def type_of(value: Any) -> Any:
    """The Python type of a constant or a container, as far as its parts say it."""
    if isinstance(value, Value):
        kind = link_of(value).annotation
        return str if kind is Unknown else kind
    if _is_open(value):
        return type_of(_closed(value))
    if value is None:
        return Optional[str]
    if isinstance(value, (Enum, BaseModel, *SCALARS)):
        return type(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return list_of(_common([type_of(item) for item in value]))
    if isinstance(value, dict):
        return dict[str, _common([type_of(item) for item in value.values()])]  # type: ignore[misc]
    return Any


def _is_open(value: Any) -> bool:
    """Whether a list takes in a list of the run."""
    return isinstance(value, list) and any(isinstance(item, Symbolic) for item in value)


def _closed(value: Any) -> Value:
    from .container import collected

    return Value(collected(value))


def _common(kinds: list[Any]) -> Any:
    """The type of all of several values."""
    return joined(kinds) if kinds else Any


def joined(kinds: list[Any]) -> Any:
    """The type that all values of several types have: one of them, or `Any`; with `None`, an optional one."""
    found = {repr(kind): kind for kind in kinds}
    if len(found) == 1:
        return kinds[0]
    inner = {repr(without_null(kind)): without_null(kind) for kind in kinds}
    if len(inner) == 1:
        return Optional[next(iter(inner.values()))]
    if {repr(kind) for kind in kinds} <= {repr(int), repr(float)}:
        return Union[int, float]
    return Any


def _json(value: Any, feeds: list[tuple[str, Link]]) -> str:
    """The template of the JSON of a value."""
    if isinstance(value, Value):
        feeds.append((f"part_{len(feeds) + 1}", link_of(value)))
        return f"{{{{ {feeds[-1][0]}|tojson }}}}"
    if _is_open(value):
        return _json(_closed(value), feeds)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_json(item, feeds) for item in value)}]"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        members = ", ".join(f"{_text(key)}: {_json(item, feeds)}" for key, item in value.items())
        return f"{_brace('{')}{members}{_brace('}')}"
    if isinstance(value, dict):
        refuse("puts values of the run into a dict whose keys are no texts", op("collect"))
    return _text(to_json(value))


def _text(value: Any) -> str:
    """The JSON of a constant, where no brace begins an expression."""
    return json.dumps(value, ensure_ascii=False).replace("{", _brace("{")).replace("}", _brace("}"))


def _brace(sign: str) -> str:
    return f"{{{{ '{sign}' }}}}"


def is_model(function: Any) -> bool:
    """Whether a call makes a pydantic model that has no code of its own."""
    return isinstance(function, type) and issubclass(function, BaseModel) and not is_enum(function)


def is_plain_dict(value: Any) -> bool:
    """Whether it is a dict and no prediction."""
    return isinstance(value, dict) and not isinstance(value, dspy.Example)
