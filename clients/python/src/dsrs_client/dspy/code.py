"""The Python functions behind callables, and which of them are code of the program."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from .decorators import leave_out
from .place import is_users

Note = Callable[[str], None]


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
    seen, decorators = function, []
    while not _is_users(seen):
        decorators.append(seen)
        seen = getattr(seen, "__wrapped__", None)
        if seen is None:
            return None
    for decorator in decorators:
        leave_out(decorator, seen, note)
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
