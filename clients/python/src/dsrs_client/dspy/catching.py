"""Which code of a program may catch a failure: `try` with handlers, and contexts that suppress exceptions."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from .place import is_users
from .refusal import Fork, Stop, op, refuse
from .source import definition_of

#: how many handlers are open around the line that runs now
HANDLERS: ContextVar[int] = ContextVar("HANDLERS", default=0)
#: what may fail in a run, of the code that is probed
SEEN: ContextVar[list[str] | None] = ContextVar("SEEN", default=None)


def refuse_caught(what: str) -> None:
    """Refuses what may fail in a run, where the program would catch that failure by code that is no part of a graph."""
    if (seen := SEEN.get()) is not None:
        seen.append(what)
    if HANDLERS.get():
        refuse(f"catches the failure of {what}", op("try"))


@contextmanager
def caught(catches: bool = True) -> Iterator[None]:
    """Code whose failures the program catches."""
    HANDLERS.set(HANDLERS.get() + catches)
    try:
        yield
    finally:
        HANDLERS.set(HANDLERS.get() - catches)


class Entered:
    """A context of the program, as its `with` enters it."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.caught = caught(catches(context))

    def __enter__(self) -> Any:
        entered = type(self.context).__enter__(self.context)
        self.caught.__enter__()
        return entered

    def __exit__(self, *failure: Any) -> Any:
        self.caught.__exit__(None, None, None)
        is_handled = type(self.context).__exit__(self.context, *failure)
        return is_handled and not isinstance(failure[1], (Stop, Fork))


def catches(context: Any) -> bool:
    """Whether a context suppresses exceptions: `contextlib.suppress`, or code of the program that does."""
    if isinstance(context, contextlib.suppress):
        return True
    if isinstance(context, contextlib._GeneratorContextManager):
        code = getattr(context.gen, "gi_code", None)
        return code is not None and is_users(code.co_filename) and _yields_in_try(code)
    leave = getattr(type(context), "__exit__", None)
    return isinstance(leave, FunctionType) and is_users(leave.__code__.co_filename) and _returns(leave.__code__)


def _yields_in_try(code: Any) -> bool:
    tries = [node for node in ast.walk(definition_of(code)) if isinstance(node, ast.Try) and node.handlers]
    return any(isinstance(inner, ast.Yield) for node in tries for line in node.body for inner in ast.walk(line))


def _returns(code: Any) -> bool:
    """Whether `__exit__` may return something true."""
    returns = [node.value for node in ast.walk(definition_of(code)) if isinstance(node, ast.Return)]
    return any(not isinstance(value, (ast.Constant, type(None))) or bool(_constant(value)) for value in returns)


def _constant(value: ast.expr | None) -> Any:
    return value.value if isinstance(value, ast.Constant) else None
