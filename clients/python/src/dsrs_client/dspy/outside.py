"""Functions that stay with the caller: an `await` node, whose outputs the caller sends."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType
from typing import Any

import dspy

from .catching import refuse_caught
from .draft import Draft
from .leaf import Leaf
from .record import record
from .refusal import refuse

RESULT = "result"


class Outside:
    """The functions that the caller keeps."""

    def __init__(self, draft: Callable[[], Draft], returns: Mapping[str, Any]) -> None:
        self.draft, self.returns = draft, returns

    def stand_in(self, function: Any) -> Callable[..., Any] | None:
        """What a trace calls in place of a function, if it stays with the caller."""
        name = name_of(function)
        if name not in self.returns:
            return None
        returned = self.returns[name]

        def call(*positional: Any, **named: Any) -> Any:
            outputs = returned if isinstance(returned, Mapping) else {RESULT: returned}
            given, kinds = arguments_of(function, positional, named)
            leaf = Leaf("await", signature_of_call(name, kinds, outputs), dict(outputs), [])
            refuse_caught(f"`{name}`")
            answer = record(self.draft(), name, name, leaf, given, {})
            return answer if isinstance(returned, Mapping) else answer[RESULT]

        return call


def name_of(function: Any) -> str:
    """The name by which options mean a function; empty for one of Python itself, such as `re.search` or `dict.get`."""
    owner = str(getattr(function, "__module__", None) or "").split(".")[0]
    if isinstance(function, BuiltinFunctionType) or owner in sys.stdlib_module_names - {"__main__"}:
        return ""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def called_of(function: Any) -> Any:
    """The function whose parameters a call fills."""
    return getattr(function, "forward", None) or (function if inspect.isroutine(function) else function.__call__)


def arguments_of(
    function: Any, positional: tuple[Any, ...], named: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments by name, and the types that the function declares."""
    called = called_of(function)
    bound = inspect.signature(called).bind(*positional, **named)
    bound.apply_defaults()
    hints = inspect.get_annotations(called, eval_str=True)
    given: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            given.update(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            refuse(f"calls `{function}` with arguments without names")
        elif value is not None:
            given[name] = value
    return given, {name: hints.get(name) for name in given}


def signature_of_call(name: str, kinds: dict[str, Any], outputs: Mapping[str, Any]) -> Any:
    """The arguments and the results of a call as a signature."""
    fields: dict[str, Any] = {}
    for key, kind in kinds.items():
        fields[key] = (kind, dspy.InputField()) if kind is not None else (str, _untyped())
    for key, kind in outputs.items():
        fields[key] = (kind, dspy.OutputField())
    return dspy.Signature(fields, f"Call `{name}` with these arguments and send what it returns.")


def _untyped() -> Any:
    from dspy.utils.constants import IS_TYPE_UNDEFINED

    return dspy.InputField(**{IS_TYPE_UNDEFINED: True})
