"""The Python functions behind callables, and which of them are code of the program."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from .place import is_users

Note = Callable[[str], None]
#: where decorators are from that change nothing of a graph: `lru_cache`, and `contextmanager`, which is applied again
STANDARD = ("functools", "contextlib")


def followed_function(
    function: Any, run: Callable[[FunctionType], FunctionType], note: Note
) -> Callable[..., Any] | None:
    """The callable with hooks, if it is code of the program."""
    if inspect.isclass(function):
        return None
    plain, owner = _bound(function)
    found = users_function(plain, note)
    if found is None:
        return None
    made: Any = run(found)
    if _is_context_manager(plain):
        made = contextlib.contextmanager(made)
    return MethodType(made, owner) if owner is not None else made


def users_function(function: Any, note: Note) -> FunctionType | None:
    """The function itself, or the one that decorators of libraries wrap; none if no code of the program is in it."""
    seen = function
    while not _is_users(seen):
        seen = getattr(seen, "__wrapped__", None)
        if seen is None:
            return None
    if seen is not function and _package(function) not in STANDARD:
        note(f"the decorator of `{seen.__qualname__}` ({_package(function)}) is left out")
    return seen  # type: ignore[no-any-return]


def _is_context_manager(function: Any) -> bool:
    return isinstance(function, FunctionType) and function.__code__.co_filename == contextlib.__file__


def _is_users(function: Any) -> bool:
    return isinstance(function, FunctionType) and is_users(function.__code__.co_filename)


def _bound(function: Any) -> tuple[Any, Any]:
    """The function of a method or of an object that can be called, and what it is bound to."""
    if isinstance(function, MethodType):
        return function.__func__, function.__self__
    called = getattr(type(function), "__call__", None)  # noqa: B004
    is_object = isinstance(called, FunctionType) and not isinstance(function, FunctionType)
    return (called, function) if is_object else (function, None)


def _package(function: Any) -> str:
    """The library of a decorator."""
    if isinstance(function, FunctionType):
        file = Path(function.__code__.co_filename)
        is_module = file.parent.name in ("site-packages", "dist-packages") or file.stem in STANDARD
        return file.stem if is_module else file.parent.name
    return str(type(function).__module__)
