"""A prediction in a list of the run: a class with its fields, which a program only reads."""

from __future__ import annotations

from functools import cache
from typing import Any

import dspy
from pydantic import BaseModel, create_model

from .structure import structured, type_of
from .value import Value


class Predicted(BaseModel):
    """What the classes of predictions have in common."""


def as_value(item: Any) -> Any:
    """A prediction as one value; anything else as it is."""
    if not isinstance(item, dspy.Prediction):
        return item
    fields = dict(item.items())
    kinds = {name: type_of(value) for name, value in fields.items()}
    return Value(structured(fields, _class_of(tuple(kinds), tuple(map(_Kind, kinds.values())))))


class _Kind:
    """A type, which is the same as another one that is written so."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and repr(self.kind) == repr(other.kind)

    def __hash__(self) -> int:
        return hash(repr(self.kind))


@cache
def _class_of(names: tuple[str, ...], kinds: tuple[_Kind, ...]) -> Any:
    """The class of predictions with these fields."""
    name = "Predicted" + "".join(part.title().replace("_", "") for part in names)
    fields: Any = {part: (kind.kind, ...) for part, kind in zip(names, kinds, strict=True)}
    return create_model(name[:60], __base__=Predicted, **fields)


def holds_predictions(kind: Any) -> bool:
    """Whether values of a type are predictions, or lists of them."""
    return any(
        isinstance(each, type) and issubclass(each, Predicted) for each in (kind, *getattr(kind, "__args__", ()))
    )
