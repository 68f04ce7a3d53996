"""Which values Python compares with which. A graph compares no others: their JSON says less than their types."""

from __future__ import annotations

import inspect
import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from .annotation import Unknown, is_enum, without_null

NUMBER, TEXT, NONE, JSON = "number", "text", "none", "json"
#: what a graph does not compare as Python does
OTHER = "other"


def category(kind: Any) -> Any:
    """What values of a type are equal to: values of the same category, and no others."""
    inner = without_null(kind)
    if inner is Unknown or inner is str:
        return TEXT
    if inner in (int, float, bool):
        return NUMBER
    if inner in (None, type(None)):
        return NONE
    if inner is Any:
        return JSON
    if is_enum(inner):
        return TEXT if issubclass(inner, str) else NUMBER if issubclass(inner, int) else inner
    if get_origin(inner) is Literal:
        return _one([category(type(member)) for member in get_args(inner)])
    if get_origin(inner) in (Union, types.UnionType):
        return _one([category(member) for member in get_args(inner)])
    if inspect.isclass(inner) and issubclass(inner, BaseModel):
        return inner
    return _of_container(inner)


def _one(found: list[Any]) -> Any:
    return found[0] if all(each == found[0] for each in found) else OTHER


def _of_container(kind: Any) -> Any:
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if origin is list or origin is dict:
        inner = category(arguments[-1]) if arguments else JSON
        return OTHER if inner == OTHER else (origin, inner)
    if origin is tuple:
        members = tuple(category(argument) for argument in arguments if argument is not ...)
        return OTHER if OTHER in members else (tuple, members, ... in arguments)
    return OTHER


def category_of_constant(value: Any) -> Any:
    """The category of a constant."""
    if isinstance(value, (list, tuple)):
        members = [category_of_constant(item) for item in value]
        if isinstance(value, tuple):
            return OTHER if OTHER in members else (tuple, tuple(members), False)
        return (list, _one(members) if members else JSON)
    if isinstance(value, (Enum, BaseModel, str, int, float, bool, type(None))):
        return category(type(value))
    return (dict, JSON) if isinstance(value, dict) else OTHER


def may_be_equal(one: Any, other: Any) -> bool | None:
    """Whether values of two categories may be equal; none if a graph cannot say it."""
    if OTHER in (one, other):
        return None
    if NONE in (one, other) or JSON in (one, other):
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        if one[0] is not other[0]:
            return False
        if one[0] is tuple:
            return True if one == other else None
        return may_be_equal(one[1], other[1])
    return bool(one == other)


def has_order(one: Any, other: Any) -> bool:
    """Whether Python has an order between values of two categories that the graph has, too."""
    if isinstance(one, tuple) and one[0] is list and isinstance(other, tuple) and other[0] is list:
        return has_order(one[1], other[1])
    return one == other and one in (NUMBER, TEXT)
