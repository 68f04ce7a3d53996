"""Whether values of the run are in a container or an object of the program."""

from __future__ import annotations

import sys
from collections import deque
from types import SimpleNamespace
from typing import Any, NoReturn

import dspy
from dspy.primitives.prediction import Completions

from .place import is_users
from .refusal import refuse
from .value import Value


class Symbolic:
    """Something else than a value that a trace puts where a run has values."""


class Stale(Symbolic):
    """A value of the last round of a loop, which a graph does not have: there may be no round."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def refuse(self, *_: object) -> NoReturn:
        """Refuses any use."""
        name = object.__getattribute__(self, "_name")
        refuse(f"uses `{name}` of the last round of a loop", "Append it to a list, or assign it before the loop.")

    __getattr__ = __getitem__ = __iter__ = __len__ = __bool__ = __str__ = __repr__ = __format__ = __call__ = refuse
    __add__ = __radd__ = __eq__ = __lt__ = __gt__ = __hash__ = refuse


def holds_value(value: Any) -> bool:
    """Whether a symbolic value is in it, at any depth of containers and of objects of the program."""
    return _holds(value, set())


def _holds(value: Any, seen: set[int]) -> bool:
    if isinstance(value, Stale):
        value.refuse()
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
    if isinstance(value, Completions):
        return list(dict(value.items()).values())
    return list(vars(value).values()) if is_own_object(value) else []


def is_own_object(value: Any) -> bool:
    """Whether an object is of a class of the program, with attributes that may hold values."""
    if isinstance(value, (type, dspy.Module)) or not hasattr(value, "__dict__"):
        return False
    name = type(value).__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return isinstance(value, SimpleNamespace) or (is_users(file) if file is not None else name == "__main__")
