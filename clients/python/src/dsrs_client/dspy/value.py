"""Symbolic values: what predictors receive and return in a trace.

A value has no content. It records where it comes from; what would need its content is refused, with the line.
"""

from __future__ import annotations

from typing import Any, NoReturn, get_args, get_origin

from .annotation import (
    element_of,
    field_of,
    is_class,
    is_enum,
    is_list,
    is_text,
    is_tuple,
    may_be_none,
    plural,
    without_null,
)
from .computed import computed
from .link import FACTS, Link, required
from .refusal import op, refuse


def link_of(value: Value) -> Link:
    """Where a value comes from."""
    link: Link = object.__getattribute__(value, "_link")
    facts = FACTS.get()
    return facts.get(link.identity, link) if facts and link.is_optional else link


class Value:
    """A value of a run that has not happened yet."""

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        object.__setattr__(self, "_link", link)

    def __copy__(self) -> Value:
        return self

    def __deepcopy__(self, memo: object) -> Value:
        return self

    def __getattr__(self, name: str) -> Any:
        link = link_of(self)
        if name.startswith("__"):
            raise AttributeError(name)
        if is_class(link.annotation):
            return _member(link, name)
        if is_enum(without_null(link.annotation)) and name in ("value", "name"):
            return _of_member(link, name)
        if is_text(link.annotation) and not may_be_none(link.annotation):
            from .text_methods import method_of

            if (method := method_of(link, name)) is not None:
                return method
        from .dict_methods import method_of as method_of_dict

        if (method := method_of_dict(link, name)) is not None:
            return method
        refuse(
            f"`.{name}` of {link.label}, {plural(link.annotation)}, is not a part that an edge can select", op("render")
        )

    def __getitem__(self, key: Any) -> Value:
        link = link_of(self)
        if isinstance(key, slice) and (expression := _slice(key)) is not None:
            return Value(computed(expression, link, link.annotation))
        if isinstance(key, int) and not isinstance(key, bool) and _is_sequence(link.annotation):
            link = required(link, f"`[{key}]`") if may_be_none(link.annotation) else link
            return Value(link.item(key, element_of(link.annotation, key)))
        if isinstance(key, str) and _is_dict(link.annotation):
            link = required(link, f"`[{key!r}]`") if may_be_none(link.annotation) else link
            return Value(link.key(key, element_of(link.annotation)))
        shown = "…" if isinstance(key, (Value, slice)) else repr(key)
        refuse(
            f"`[{shown}]` of {link.label}, {plural(link.annotation)}, is not a part that an edge can select",
            op("render"),
        )

    def __iter__(self) -> Any:
        link = link_of(self)
        if is_tuple(link.annotation):
            count = len(get_args(without_null(link.annotation)))
            return iter([Value(link.element(number, element_of(link.annotation, number))) for number in range(count)])
        refuse(f"iterates over {link.label}", op("map"))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        refuse(f"assigns `.{name}` of {link_of(self).label}: values of a graph do not change", op("collect"))

    def __add__(self, other: Any) -> Value:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return _arithmetic("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return _arithmetic("subtract", self, other)

    def __rsub__(self, other: Any) -> Value:
        return _arithmetic("subtract", other, self)

    def __neg__(self) -> Value:
        return self * -1

    def __mul__(self, other: Any) -> Value:
        return _arithmetic("multiply", self, other)

    def __rmul__(self, other: Any) -> Value:
        return _arithmetic("multiply", other, self)

    def __truediv__(self, other: Any) -> Value:
        return _arithmetic("divide", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return _arithmetic("divide", other, self)


def _member(link: Link, name: str) -> Value:
    """A field of a class; of an optional class that is null, the node fails as `None.name` does."""
    kind = field_of(link.annotation, name)
    if may_be_none(link.annotation):
        link = required(link, f"`.{name}`")
    return Value(link.part(f".{name}", kind))


def _of_member(link: Link, name: str) -> Value:
    from .notation import member_text, member_value

    if may_be_none(link.annotation):
        link = required(link, f"`.{name}`")
    return Value(member_value(link) if name == "value" else member_text(link, lambda member: str(member.name)))


def _is_sequence(annotation: Any) -> bool:
    inner = without_null(annotation)
    return annotation is Any or is_list(inner) or inner is tuple or get_origin(inner) is tuple


def _is_dict(annotation: Any) -> bool:
    inner = without_null(annotation)
    return annotation is Any or inner is dict or get_origin(inner) is dict


def _slice(key: slice) -> str | None:
    """A slice with constant limits, as an expression."""
    if not all(limit is None or isinstance(limit, int) for limit in (key.start, key.stop)) or key.step is not None:
        return None
    limits = ["" if limit is None else str(limit) for limit in (key.start, key.stop)]
    return f"value[{':'.join(limits)}]"


def _arithmetic(name: str, left: Any, right: Any) -> Value:
    from .arithmetic import combined

    return combined(name, left, right)
