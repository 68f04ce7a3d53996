"""Symbolic values: what predictors receive and return in a trace.

A value has no content. It records where it comes from; what would need its content is refused, with the line.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .annotation import element_of, field_of, is_class, is_text, plural
from .computed import computed
from .link import Link, Operation
from .refusal import op, refuse

TEXT_METHODS = ("strip", "lower", "upper")


def link_of(value: Value) -> Link:
    """Where a value comes from."""
    link: Link = object.__getattribute__(value, "_link")
    return link


class Value:
    """A value of a run that has not happened yet."""

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        object.__setattr__(self, "_link", link)

    def __repr__(self) -> str:
        return f"<value {link_of(self).label}>"

    def __getattr__(self, name: str) -> Any:
        link = link_of(self)
        if name.startswith("__"):
            raise AttributeError(name)
        if is_class(link.annotation):
            return Value(link.part(f".{name}", field_of(link.annotation, name)))
        if is_text(link.annotation) and name in TEXT_METHODS:
            return TextMethod(link, name)
        if name in ("items", "keys", "values"):
            refuse(f"goes through {link.label}, {plural(link.annotation)}, whose length the run decides", op("map"))
        refuse(
            f"`.{name}` of {link.label}, {plural(link.annotation)}, is not a part that an edge can select", op("render")
        )

    def __getitem__(self, key: Any) -> Value:
        link = link_of(self)
        if isinstance(key, int) and not isinstance(key, bool) and key >= 0:
            return Value(link.item(key, element_of(link.annotation)))
        if (expression := _position(key)) is not None:
            kind = link.annotation if isinstance(key, slice) else element_of(link.annotation)
            return Value(computed(expression, link, kind))
        if isinstance(key, str) and "'" not in key:
            return Value(link.key(key, element_of(link.annotation)))
        refuse(f"`[{key!r}]` of {link.label} is not a part that an edge can select", op("render"))

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

    def __mul__(self, other: Any) -> Value:
        return _arithmetic("multiply", self, other)

    def __rmul__(self, other: Any) -> Value:
        return _arithmetic("multiply", other, self)

    def __truediv__(self, other: Any) -> Value:
        return _arithmetic("divide", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return _arithmetic("divide", other, self)


def _position(key: Any) -> str | None:
    """A negative index or a slice with constant limits, as an expression."""
    if isinstance(key, int):
        return f"value[{key}]"
    if not isinstance(key, slice) or not all(
        limit is None or isinstance(limit, int) for limit in (key.start, key.stop)
    ):
        return None
    limits = ["" if limit is None else str(limit) for limit in (key.start, key.stop)]
    return f"value[{':'.join(limits)}]" if key.step is None else None


def _arithmetic(name: str, left: Any, right: Any) -> Value:
    from .arithmetic import combined

    return combined(name, left, right)


class TextMethod:
    """`.strip`, `.lower` or `.upper` of a text, before it is called."""

    def __init__(self, link: Link, name: str) -> None:
        self.link, self.name = link, name

    def __call__(self, characters: str | None = None) -> Value:
        config = {"characters": characters} if characters is not None else {}
        return Value(Operation(self.name, config, [("text", self.link)], "text").link(str))


def _refusal(what: str, nearest: str) -> Any:
    def method(self: Value, *_: object) -> NoReturn:
        refuse(what.format(link_of(self).label), op(nearest))

    return method


BRANCHES = {
    "__bool__": "branches on {}",
    "__eq__": "compares {}",
    "__ne__": "compares {}",
    "__lt__": "compares {}",
    "__le__": "compares {}",
    "__gt__": "compares {}",
    "__ge__": "compares {}",
    "__contains__": "looks for something in {}",
}
CONTENTS = {
    "__iter__": ("iterates over {}", "map"),
    "__len__": ("takes the length of {}", "render"),
    "__str__": ("writes {} as a text", "format"),
    "__format__": ("writes {} as a text", "format"),
    "__int__": ("reads {} as a number", "coerce"),
    "__float__": ("reads {} as a number", "coerce"),
    "__index__": ("reads {} as a number", "coerce"),
    "__hash__": ("uses {} as a key", "select"),
    "__mod__": ("formats {}", "format"),
    "__neg__": ("computes with {}", "multiply"),
    "__call__": ("calls {}", "render"),
}
for _name, _what in BRANCHES.items():
    setattr(Value, _name, _refusal(_what, "branch"))
for _name, (_what, _nearest) in CONTENTS.items():
    setattr(Value, _name, _refusal(_what, _nearest))
