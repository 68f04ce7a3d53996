"""The globals that a program uses: what a trace changes in them is found and taken back."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sized
from types import CodeType, FunctionType
from typing import Any

from .attributes import Saved, identity, restore, save

_ABSENT = object()
#: larger containers are data that no program changes
LARGEST = 10_000


class ModuleGlobals:
    """The globals of each function of the program, as they were before it ran."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, str], tuple[dict[str, Any], Any, Any]] = {}
        self._saved: Saved = []
        self._seen: set[int] = set()

    def add(self, function: FunctionType) -> None:
        """A function that is about to run for the first time."""
        for name in _names(function.__code__):
            key = (id(function.__globals__), name)
            value = function.__globals__.get(name, _ABSENT)
            if isinstance(value, Sized) and not isinstance(value, (str, type)) and len(value) > LARGEST:
                continue
            if key not in self._before and (value is not _ABSENT or name in _stored(function.__code__)):
                self._before[key] = (function.__globals__, value, identity(value, 3))
                save(value, self._saved, self._seen)

    def changed(self) -> list[str]:
        """The globals that have changed since, as messages call them."""
        found = []
        for (_, name), (namespace, _, then) in self._before.items():
            if identity(namespace.get(name, _ABSENT), 3) != then:
                found.append(f"the global `{name}`")
        return sorted(found)

    def restore(self) -> None:
        """Takes the changes back."""
        for (_, name), (namespace, value, _) in self._before.items():
            if value is _ABSENT:
                namespace.pop(name, None)
            elif namespace.get(name, _ABSENT) is not value:
                namespace[name] = value
        for thing, content in self._saved:
            restore(thing, content)


def _names(code: CodeType) -> Iterator[str]:
    """The names in a function and in those inside of it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _stored(code: CodeType) -> set[str]:
    """The globals that it assigns."""
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_GLOBAL"}
