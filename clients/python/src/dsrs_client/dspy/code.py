"""The Python functions behind callables, and which of them are code of the program."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from .catching import Entered
from .decorators import cache_of, context_of, leave_out
from .draft import Draft
from .place import is_users

Note = Callable[[str], None]


def followed_function(
    function: Any, run: Callable[[FunctionType], FunctionType], draft: Draft
) -> Callable[..., Any] | None:
    """The callable with hooks, if it is code of the program."""
    if inspect.isclass(function):
        return None
    plain, owner = _bound(function)
    found = users_function(plain, draft.note)
    if found is None:
        return None
    made = in_contexts(run(found), plain, draft)
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


def in_contexts(made: Any, function: Any, draft: Draft) -> Any:
    """A function with hooks in the contexts that decorate the original one."""
    contexts, seen = [], function
    if (cache := cache_of(function)) is not None:
        made = _without_cache(made, cache, draft)
    while not _is_users(seen):
        contexts.append(context_of(seen))
        seen = seen.__wrapped__
    contexts = [context for context in contexts if context is not None]

    def call(*arguments: Any, **named: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for context in contexts:
                stack.enter_context(Entered(context._recreate_cm()))
            return made(*arguments, **named)

    return call if contexts else made


def _without_cache(made: Any, cache: Any, draft: Draft) -> Any:
    """A function whose results Python stores: a graph runs the predictors in it again."""

    def call(*arguments: Any, **named: Any) -> Any:
        count = len(draft.bound)
        result = made(*arguments, **named)
        if len(draft.bound) > count:
            what = f"the cache of `{cache.__qualname__}` is left out: its predictors run in each call"
            draft.note(what, "Remove the cache; the server can store answers of models (docs/models.md).")
        return result

    return call


def _is_context_manager(function: Any) -> bool:
    is_made = isinstance(function, FunctionType) and function.__code__.co_filename == contextlib.__file__
    return is_made and context_of(function) is None


def _is_users(function: Any) -> bool:
    return isinstance(function, FunctionType) and is_users(function.__code__.co_filename)


def _bound(function: Any) -> tuple[Any, Any]:
    """The function of a method or of an object that can be called, and what it is bound to."""
    if isinstance(function, MethodType):
        return function.__func__, function.__self__
    called = getattr(type(function), "__call__", None)  # noqa: B004
    is_object = isinstance(called, FunctionType) and not isinstance(function, FunctionType)
    return (called, function) if is_object else (function, None)
