"""What rewritten code calls in place of f-strings, calls, `is`, `try` and `match`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from types import FunctionType, GeneratorType, MethodType
from typing import Any

import dspy

from .annotation import Unknown, is_optional
from .builtin import BUILTINS, METHODS_OF_CONTAINERS, METHODS_OF_SPLICED, text_method
from .container import Splice, collected, holds_splice, holds_value
from .link import Operation
from .place import is_users
from .refusal import op, refuse
from .rewrite import rewritten
from .template import text_of_parts
from .value import TextMethod, Value, link_of


class Hooks:
    """The hooks of one trace."""

    def __init__(
        self,
        outside: Callable[[Any], Callable[..., Any] | None],
        mapped: Callable[[Any, Callable[[Any], Any]], Any],
    ) -> None:
        self.outside, self.mapped = outside, mapped
        self.tries = 0
        self._rewritten: dict[FunctionType, FunctionType] = {}

    def joined(self, *parts: Any) -> Any:
        """An f-string."""
        if not any(isinstance(part, tuple) and holds_value(part[0]) for part in parts):
            return "".join(part if isinstance(part, str) else _formatted(*part) for part in parts)
        return text_of_parts([part if isinstance(part, str) else _slot(*part) for part in parts])

    def call(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        """A call. One without values of the run is made as it is; user's own code is followed."""
        if (stand_in := self.outside(function)) is not None:
            return stand_in(*arguments, **named)
        if isinstance(function, (dspy.Module, dspy.Parallel, TextMethod)):
            return function(*arguments, **named)
        if (bound := text_method(function)) is not None:
            arguments = tuple(list(each) if isinstance(each, GeneratorType) else each for each in arguments)
            if holds_value([arguments, named]):
                return bound(*arguments, **named)
        if _extends(function, arguments):
            function.__self__.append(Splice(link_of(arguments[0])))
            return None
        if _is_forward(function):
            return function.__self__(*arguments, **named)
        if holds_splice(getattr(function, "__self__", None)) and function.__name__ not in METHODS_OF_SPLICED:
            refuse(f"calls `.{function.__name__}` of a list that a list of the run is a part of", op("render"))
        if self._is_followed(function):
            return self._follow(function)(*arguments, **named)
        if not holds_value([arguments, named]) or _is_container(function):
            return function(*arguments, **named)
        if isinstance(function, Hashable) and (known := BUILTINS.get(function)) is not None:
            return known(*arguments, **named)
        name = getattr(function, "__qualname__", type(function).__name__)
        refuse(f"calls `{name}`, which is Python code, with a value of the run", OUTSIDE)

    def same(self, left: Any, right: Any, negated: bool) -> bool:
        """`is` and `is not`."""
        for value, other in ((left, right), (right, left)):
            if isinstance(value, Value) and (other is not None or _may_be_null(value)):
                refuse(f"branches on {link_of(value).label}", op("branch"))
        return (left is right) is not negated

    def known(self, value: Any) -> Any:
        """What a program decides by: the length of a list that takes in a list of the run is not known."""
        if holds_splice(value):
            refuse("decides by a list that a list of the run is a part of", op("branch"))
        return value

    def item(self, value: Any, key: Any) -> Any:
        """A subscript."""
        return Value(collected(value))[key] if holds_splice(value) else value[key]

    def matched(self, subject: Any) -> Any:
        """The subject of `match`."""
        if isinstance(subject, Value):
            refuse(f"branches on {link_of(subject).label}", op("branch"))
        return subject

    def try_begins(self) -> None:
        """The first line of a `try` with handlers."""
        self.tries += 1

    def try_ends(self) -> None:
        """The end of a `try`."""
        self.tries -= 1

    def run(self, function: FunctionType) -> FunctionType:
        """The function with hooks."""
        if function not in self._rewritten:
            self._rewritten[function] = rewritten(function, self)
        return self._rewritten[function]

    def _is_followed(self, function: Any) -> bool:
        code = getattr(_plain(function), "__code__", None)
        return code is not None and is_users(code.co_filename) and not inspect.isclass(function)

    def _follow(self, function: Any) -> Callable[..., Any]:
        plain = _plain(function)
        if plain.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE) or plain.__name__ == "<lambda>":
            return function  # type: ignore[no-any-return]
        if "__dsrs_hooks__" in plain.__code__.co_freevars:
            return function  # type: ignore[no-any-return]
        made = self.run(plain)
        owner = getattr(function, "__self__", None)
        if owner is None and not isinstance(function, FunctionType):
            owner = function
        return MethodType(made, owner) if owner is not None else made


OUTSIDE = "Nearest: `await` (docs/strategies.md#await); `outside=` of `push` makes such a node."


def _plain(function: Any) -> Any:
    if isinstance(function, FunctionType):
        return function
    if isinstance(function, MethodType):
        return function.__func__
    called = getattr(type(function), "__call__", None)  # noqa: B004
    return called if isinstance(called, FunctionType) else None


def _is_forward(function: Any) -> bool:
    """`module.forward`, which is the module itself in a trace."""
    if not isinstance(function, MethodType) or not isinstance(function.__self__, dspy.Module):
        return False
    return function.__func__ is getattr(type(function.__self__), "forward", None)


def _extends(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a list of the program takes all elements of a list of the run."""
    is_extend = isinstance(getattr(function, "__self__", None), list) and function.__name__ == "extend"
    return is_extend and len(arguments) == 1 and isinstance(arguments[0], Value)


def _is_container(function: Any) -> bool:
    if function in (dspy.Prediction, dspy.Example, dict):
        return True
    owner = getattr(function, "__self__", None)
    return isinstance(owner, (list, dict, dspy.Example)) and function.__name__ in METHODS_OF_CONTAINERS


def _may_be_null(value: Value) -> bool:
    kind = link_of(value).annotation
    return kind is not Unknown and is_optional(kind)


def _formatted(value: Any, conversion: int, spec: str) -> str:
    converted = {-1: value, 115: value, 114: value, 97: value}[conversion]
    if conversion == 115:
        converted = str(value)
    elif conversion == 114:
        converted = repr(value)
    elif conversion == 97:
        converted = ascii(value)
    return format(converted, spec)


def _slot(value: Any, conversion: int, spec: Any) -> Any:
    if not holds_value(value):
        return _formatted(value, conversion, spec)
    if not isinstance(value, Value) or conversion not in (-1, 115):
        refuse("writes Python's notation of a value of the run into a text", op("render"))
    if not spec:
        return value
    link = link_of(value)
    if not isinstance(spec, str):
        refuse(f"formats {link.label} with a format that the run decides", op("format"))
    return Value(Operation("format", {"template": f"{{value:{spec}}}"}, [("value", link)], "text").link(str))
