"""Lists, tuples and classes with symbolic values in them, as `collect` and `concat` ops."""

from __future__ import annotations

import sys
from collections import deque
from types import SimpleNamespace
from typing import Any, NoReturn

import dspy

from .link import Link, Operation
from .place import is_users
from .refusal import op, refuse
from .value import Value, link_of


class Symbolic:
    """Something else than a value that a trace puts where a run has values."""


class Splice(Symbolic):
    """The elements of a list of the run, at their place in a list of the program (`notes.extend(value)`)."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def _refuse(self, *_: object) -> NoReturn:
        refuse(f"takes one element of a list that {self.link.label} is a part of", op("render"))

    __getitem__ = __bool__ = __eq__ = __str__ = __repr__ = __format__ = __len__ = __iter__ = _refuse
    __hash__ = _refuse


def holds_value(value: Any) -> bool:
    """Whether a symbolic value is in it, at any depth of containers and of objects of the program."""
    return _holds(value, set())


def _holds(value: Any, seen: set[int]) -> bool:
    if isinstance(value, (Value, Symbolic)):
        return True
    if isinstance(value, (str, bytes, int, float, type(None))) or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_holds(part, seen) for part in _parts_of(value))


def _parts_of(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, dspy.Example):
        return [part for _, part in value.items(include_dspy=True)]
    return list(vars(value).values()) if is_own_object(value) else []


def is_own_object(value: Any) -> bool:
    """Whether an object is of a class of the program, with attributes that may hold values."""
    if isinstance(value, (type, dspy.Module)) or not hasattr(value, "__dict__"):
        return False
    name = type(value).__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return isinstance(value, SimpleNamespace) or (is_users(file) if file is not None else name == "__main__")


def holds_splice(value: Any) -> bool:
    """Whether the length of a list is not known."""
    return isinstance(value, list) and any(isinstance(item, Splice) for item in value)


def collected(value: Any) -> Link:
    """A list or tuple as one value."""
    if isinstance(value, Value):
        return link_of(value)
    if not isinstance(value, (list, tuple)):
        refuse(f"puts values of the run into a {type(value).__name__}", op("collect"))
    parts = _parts(list(value))
    if len(parts) == 1:
        return parts[0]
    names = [f"part_{number}" for number in range(1, len(parts) + 1)]
    feeds = list(zip(names, parts, strict=True))
    return Operation("concat", {"inputs": names}, feeds, "value").link(parts[0].annotation)


def _parts(items: list[Any]) -> list[Link]:
    """Spliced lists, and lists of what stands between them."""
    parts: list[Link] = []
    single: list[Link] = []
    for item in items:
        if isinstance(item, Splice):
            parts += [*([_list_of(single)] if single else []), item.link]
            single = []
        else:
            single.append(_element(item))
    return [*parts, _list_of(single)] if single else parts


def _element(item: Any) -> Link:
    if isinstance(item, str):
        return Operation("render", {"fstring": item.replace("{", "{{").replace("}", "}}")}, [], "text").link(str)
    if holds_value(item):
        return collected(item)
    refuse(f"puts the constant {item!r} beside values of the run", op("collect"))


def _list_of(links: list[Link]) -> Link:
    names = [f"item_{number}" for number in range(1, len(links) + 1)]
    config: dict[str, Any] = {"as": "list", "inputs": names}
    kinds = {repr(link.annotation): link.annotation for link in links}
    annotation: Any = list[next(iter(kinds.values()))] if len(kinds) == 1 else list[Any]  # type: ignore[misc]
    return Operation("collect", config, list(zip(names, links, strict=True)), "value").link(annotation)
