"""Calls of a program: which are nodes, which are code to follow, and which no graph can make."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import is_dataclass
from functools import partial
from types import FunctionType, MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import dspy
from pydantic import BaseModel

from .builtin import BUILTINS, METHODS_OF_CONTAINERS, METHODS_OF_SPLICED, STRUCTURAL
from .catching import catches
from .code import followed_function
from .completions import majority_of
from .container import Splice, holds_splice
from .contents import Symbolic, holds_value
from .decision import any_of
from .json_functions import json_function
from .leaf import KINDS
from .re_functions import re_function
from .refusal import op, refuse
from .rewriter import LEVELS
from .structure import is_model, record_of
from .text_functions import text_method
from .text_methods import Method
from .unrepeatable import IGNORED, is_clock, refuse_unrepeatable
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer

OUTSIDE = (
    "Nearest: `call` (docs/strategies.md#call), by `tools=` of `push`, or `await` (docs/strategies.md#await), by "
    "`outside=`."
)
CONTAINERS = (list, dict, deque)
LOGGING = ("logging", "warnings", "_warnings")
#: what a patched method of DSPy is marked with: it records its call
RECORDS = "__dsrs_records__"


class Calls:
    """The calls of one trace."""

    def __init__(self, tracer: Tracer, stand_ins: Iterable[Callable[[Any], Callable[..., Any] | None]]) -> None:
        self.tracer, self.stand_ins = tracer, tuple(stand_ins)

    def call(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        """A call. One without values of the run is made as it is; the program's own code is followed."""
        if isinstance(function, Value):
            return function()  # type: ignore[operator]
        if (made := next(filter(None, (find(function) for find in self.stand_ins)), None)) is not None:
            return made(*arguments, **named)
        if isinstance(function, dspy.Module):
            return self.tracer.called(function, *arguments, **named)
        if isinstance(function, (dspy.Parallel, Method)) or hasattr(function, RECORDS):
            return function(*arguments, **named)
        if isinstance(function, partial):
            return self.call(function.func, *function.args, *arguments, **{**function.keywords, **named})
        if isinstance(function, MethodType) and isinstance(function.__self__, dspy.Module):
            return self._of_module(function, arguments, named)
        return self._plain(function, arguments, named)

    def _of_module(self, function: MethodType, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A method of a module: `forward` is the module itself in a trace."""
        module, method = function.__self__, function.__func__
        if method is getattr(type(module), "forward", None):
            return self.tracer.forwarded(module, *arguments, **named)
        if (builder := KINDS.get(method)) is not None:
            return self.tracer.node(module, builder(module, self.tracer.options), arguments, named)
        if method is dspy.Module.batch:
            return function(*arguments, **named)
        return self._plain(function, arguments, named)

    def _plain(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if (made := followed_function(function, self.tracer.hooks.run, self.tracer.draft)) is not None:
            return made(*arguments, **named)
        if is_clock(function):
            return self.tracer.clock(function, function(*arguments, **named))
        refuse_unrepeatable(function)
        if function is print or is_logging(function):
            return self._written(function, arguments, named)
        if any(function is ignored for ignored in IGNORED):
            return None
        if holds_value([arguments, named]) and (found := self._known(function)) is not None:
            return found(*arguments, **named)
        if (bound := text_method(function)) is not None:
            arguments = tuple(list(each) if isinstance(each, Iterator) else each for each in arguments)
            return bound(*arguments, **named) if holds_value([arguments, named]) else function(*arguments, **named)
        if _extends(function, arguments):
            function.__self__.append(Splice(link_of(arguments[0])))
            return None
        if holds_splice(getattr(function, "__self__", None)) and function.__name__ not in METHODS_OF_SPLICED:
            refuse(f"calls `.{function.__name__}` of a list that a list of the run is a part of", op("render"))
        return self._of_values(function, arguments, named)

    def _known(self, function: Any) -> Callable[..., Any] | None:
        """A function of Python's library with a counterpart in a graph."""
        if is_model(function) and _is_plain_model(function):
            return lambda **fields: record_of(function, fields)
        if (found := majority_of(function, self.tracer)) is not None:
            return found
        return json_function(function, lambda: self.tracer.draft) or re_function(function)

    def _of_values(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if function is map and not any(isinstance(each, (Value, Symbolic)) for each in arguments):
            return iter([self.call(arguments[0], *items) for items in zip(*arguments[1:], strict=False)])
        if _is_to_dict(function):
            return dict(function.__self__.items())
        if _looks_into_values(function):
            refuse(f"calls `.{function.__name__}` of a {type(function.__self__).__name__} of values", op("render"))
        if getattr(function, "__name__", "") == "enter_context" and any(map(catches, arguments)):
            refuse("catches failures by an `ExitStack`", op("unwrap_or"))
        if not holds_value([arguments, named]) or _moves(function, arguments) or is_record(function):
            return function(*arguments, **named)
        if isinstance(function, type) and _has_own_init(function):
            made: Any = object.__new__(function)
            self.call(made.__init__, *arguments, **named)
            return made
        if function in (any, all) and isinstance(arguments[0], (list, tuple)):
            return any_of(list(arguments[0]), "or" if function is any else "and")
        if isinstance(function, Hashable) and (known := BUILTINS.get(function)) is not None:
            return known(*arguments, **named)
        refuse(f"calls `{name_of(function)}`, which is Python code, with a value of the run", OUTSIDE)

    def _written(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """`print` and loggers: a run has no reader of them."""
        if named.get("file") is None:
            return None
        if holds_value(arguments):
            refuse("prints a value of the run into a file", OUTSIDE)
        return function(*arguments, **named)


def _is_plain_model(function: Any) -> bool:
    """Whether pydantic alone makes an object of the class."""
    return function.__init__ is BaseModel.__init__ and not hasattr(function, "__post_init__")


def name_of(function: Any) -> str:
    """How messages call a function."""
    return str(getattr(function, "__qualname__", type(function).__name__))


def is_logging(function: Any) -> bool:
    """Whether it writes a message for people."""
    owner, module = getattr(function, "__self__", None), getattr(function, "__module__", None)
    is_logger = isinstance(owner, (logging.Logger, logging.LoggerAdapter)) or module in LOGGING
    return is_logger and getattr(function, "__name__", "") in LEVELS


def _is_to_dict(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), dspy.Example) and function.__name__ == "toDict"


def is_record(function: Any) -> bool:
    """Whether it only stores its arguments: a class without code of its own."""
    if not isinstance(function, type):
        return False
    if is_dataclass(function):
        return not hasattr(function, "__post_init__") and function.__init__.__code__.co_filename == "<string>"
    return function in (SimpleNamespace, partial) or (issubclass(function, tuple) and hasattr(function, "_fields"))


def _has_own_init(function: type) -> bool:
    own: dict[str, Any] = {name: getattr(function, name) for name in ("__new__", "__init__")}
    return type(function) is type and own["__new__"] is object.__new__ and isinstance(own["__init__"], FunctionType)


def _extends(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a list of the program takes all elements of a list of the run."""
    is_extend = isinstance(getattr(function, "__self__", None), list) and function.__name__ == "extend"
    return is_extend and len(arguments) == 1 and isinstance(arguments[0], Value)


def _moves(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a call only moves values: it makes a container, or looks at one and not into it."""
    if isinstance(function, Hashable) and function in (dspy.Prediction, dspy.Example, dict):
        return not any(isinstance(each, (Value, Symbolic)) for each in arguments)
    if isinstance(function, Hashable) and function in STRUCTURAL:
        return not any(isinstance(each, (Value, Symbolic)) or holds_splice(each) for each in arguments)
    owner = getattr(function, "__self__", None)
    return isinstance(owner, (*CONTAINERS, dspy.Example)) and function.__name__ in METHODS_OF_CONTAINERS


def _looks_into_values(function: Any) -> bool:
    """Whether a method of a container does more with values than to move them (`.sort`, `.index`)."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, CONTAINERS) and function.__name__ not in METHODS_OF_CONTAINERS and holds_value(owner)
