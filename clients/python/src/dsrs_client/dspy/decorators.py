"""Decorators of libraries: those that only watch a function are left out, any other one is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .place import Place
from .refusal import refuse

#: what changes nothing of a graph: `lru_cache`, contexts, which are entered again, and DSPy's own
STANDARD = {"contextlib", "dspy", "functools"}
#: packages whose decorators record calls or check types, and return what the function returns
WATCHING = {
    "agentops", "beartype", "braintrust", "codecarbon", "ddtrace", "deprecated", "elasticapm", "jaxtyping", "langfuse",
    "langsmith", "logfire", "mlflow", "newrelic", "openinference", "openlit", "opentelemetry", "opik", "phoenix",
    "sentry_sdk", "traceloop", "typeguard", "typing_extensions", "warnings", "weave",
}  # fmt: skip

_CACHED = type(functools.cache(len))


def leave_out(decorator: Any, function: FunctionType, note: Callable[[str], None]) -> None:
    """Notes a decorator that is left out. One that may change what the function returns is refused at its line."""
    package = _package(decorator)
    if package in STANDARD:
        return
    if package in WATCHING:
        note(f"the decorator of `{function.__qualname__}` ({package}) is left out")
        return
    refuse(
        f"`{function.__qualname__}` has a decorator of `{package}`, which may change what it returns",
        "Remove the decorator, or decorate what calls the program.",
        Place(function.__code__.co_filename, function.__code__.co_firstlineno),
    )


def context_of(decorator: Any) -> Any:
    """The context manager that decorates a function."""
    if not isinstance(decorator, FunctionType) or decorator.__globals__.get("__name__") != "contextlib":
        return None
    cells = dict(zip(decorator.__code__.co_freevars, decorator.__closure__ or (), strict=True))
    return cells["self"].cell_contents if "self" in cells else None


def cache_of(function: Any) -> Any:
    """What `functools.cache` or `functools.lru_cache` has made, where one of them decorates a function."""
    seen = function
    while seen is not None and not isinstance(seen, _CACHED):
        seen = getattr(seen, "__wrapped__", None)
    return seen


def _package(decorator: Any) -> str:
    """The library of a decorator, which `functools.wraps` hides in all but the globals; `wrapt` has it in a member."""
    made = getattr(decorator, "_self_wrapper", decorator)
    made = getattr(made, "__func__", made)
    module = made.__globals__.get("__name__") if isinstance(made, FunctionType) else type(made).__module__
    return str(module).partition(".")[0]
