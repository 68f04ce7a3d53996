"""`dspy.Code` and `dspy.Reasoning`: texts of a graph, which Python has as objects with one text."""

from __future__ import annotations

import inspect
import re
from typing import Any, Optional

import dspy

from .annotation import is_optional, without_null
from .refusal import refuse
from .value import Value, link_of

#: the attribute with the text
TEXT: dict[type, str] = {dspy.Code: "code", dspy.Reasoning: "content"}
LANGUAGE = re.compile(r"[A-Za-z0-9+#._/-]{1,40}")


def text_type(annotation: Any) -> type | None:
    """`dspy.Code` or `dspy.Reasoning`, if values are such objects, or none."""
    inner = without_null(annotation)
    return next((kind for kind in TEXT if inspect.isclass(inner) and issubclass(inner, kind)), None)


def plain_type(annotation: Any) -> Any:
    """The type of the text in place of the object's."""
    if text_type(annotation) is None:
        return annotation
    return Optional[str] if is_optional(annotation) else str


def attributes_of(name: str, annotation: Any, is_output: bool) -> dict[str, Any]:
    """What a field of a graph says beside its type."""
    kind = text_type(annotation)
    if kind is dspy.Reasoning:
        return {"reasoning": True} if is_output else {}
    if kind is None:
        return {}
    language = str(without_null(annotation).language).strip()
    if LANGUAGE.fullmatch(language) is None:
        refuse(f"field `{name}` is code of the language {language!r}, which is no name of a language in a graph")
    return {"language": language}


def value_of(link: Any, annotation: Any) -> Value:
    """A value of the run; one of such an object also has the attribute with its text."""
    kind = text_type(annotation)
    return Value(link) if kind is None else TextObject(link)


class TextObject(Value):
    """A text of the run that is an object in Python."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return Value(link_of(self)) if name in TEXT.values() else super().__getattr__(name)


def text_of(value: Any, annotation: Any) -> Any:
    """The text of an object, also of a saved file."""
    kind = text_type(annotation)
    if kind is None:
        return value
    name = TEXT[kind]
    return value[name] if isinstance(value, dict) and name in value else getattr(value, name, value)
