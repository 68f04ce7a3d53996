"""Keeps a program as it was: what its modules keep in attributes during a trace is taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dspy

from .contents import is_own_object

Saved = list[tuple[Any, Any]]


@contextmanager
def restored(modules: list[Any]) -> Iterator[None]:
    """Restores the attributes of modules, and the containers and objects of the program in them."""
    saved: Saved = []
    seen: set[int] = set()
    for module in modules:
        save(module, saved, seen)
    try:
        yield
    finally:
        for thing, content in saved:
            restore(thing, content)


def changed(modules: list[Any], names: dict[int, str], before: list[dict[str, Any]]) -> list[str]:
    """The attributes that differ from a snapshot, as messages call them."""
    found = []
    for module, then in zip(modules, before, strict=True):
        now = snapshot(module)
        path = ".".join(part for part in ("self", names[id(module)].removeprefix("self").removeprefix(".")) if part)
        found += [f"`{path}.{name}`" for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    return found


def snapshot(module: Any) -> dict[str, Any]:
    """What shows whether an attribute has changed: its identity and that of its parts."""
    return {name: identity(value, 3) for name, value in vars(module).items()}


def identity(value: Any, depth: int) -> Any:
    """A value, or which object it is and which parts it has, down to a depth."""
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    parts = _content(value) if depth else None
    if parts is None:
        return id(value)
    items = parts.items() if isinstance(parts, dict) else enumerate(parts)
    return (id(value), [(key, identity(part, depth - 1)) for key, part in items])


def _content(thing: Any) -> Any:
    """A copy of what a container or an object holds; none for anything else."""
    if type(thing) in (list, dict, set, deque):
        return thing.copy()
    if isinstance(thing, dspy.Module) or is_own_object(thing):
        return dict(vars(thing))
    return None


def save(thing: Any, saved: Saved, seen: set[int]) -> None:
    """Copies what a container or an object holds, and what those in it hold."""
    content = _content(thing)
    if content is None or id(thing) in seen:
        return
    seen.add(id(thing))
    saved.append((thing, content))
    for part in content.values() if isinstance(content, dict) else content:
        save(part, saved, seen)


def same_content(thing: Any, content: Any) -> bool:
    """Whether a container or an object holds what it held."""
    return _same(_content(thing), content)


def _same(now: Any, then: Any) -> bool:
    if isinstance(now, set):
        return bool(now == then)
    if isinstance(now, dict):
        return list(now) == list(then) and _same(list(now.values()), list(then.values()))
    return len(now) == len(then) and all(one is other for one, other in zip(now, then, strict=True))


def restore(thing: Any, content: Any) -> None:
    """Gives a container or an object what it held. Other threads may use one that has not changed."""
    if _same(_content(thing), content):
        return
    if type(thing) in (list, deque):
        thing.clear()
        thing.extend(content)
    elif type(thing) in (dict, set):
        thing.clear()
        thing.update(content)
    else:
        vars(thing).clear()
        vars(thing).update(content)
