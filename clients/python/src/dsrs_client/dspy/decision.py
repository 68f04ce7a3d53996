"""What a program decides by: a test of values of the run. A trace takes one way at each; :mod:`ways` takes them all."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from typing import Any

from .annotation import is_optional, schema_of
from .computed import refuse_none
from .json_value import to_json
from .link import Link, Operation
from .refusal import op, refuse
from .value import Value, link_of

#: which way a trace takes at a test
DECIDE: ContextVar[Callable[[Test], bool] | None] = ContextVar("DECIDE", default=None)
#: the names of values in an expression, and of the inputs of a node that decides
VALUE, OTHER = "condition", "condition_other"
CONSTANTS = (str, int, float, bool, type(None), Enum)


class Test(Value):
    """The truth of an expression over values: a `bool` of the run, which may also decide."""

    __slots__ = ("expression", "inputs")

    def __init__(self, expression: str, inputs: list[tuple[str, Link]]) -> None:
        named = "".join(f"{{% if {name} %}}{{% endif %}}" for name, _ in inputs)
        text = Operation("render", {"template": f"{named}{{{{ {expression} }}}}"}, inputs, "text").link(str)
        kind = {"type": schema_of(bool)}
        super().__init__(Operation("parse_structured", kind, [("text", text)], "value").link(bool))
        object.__setattr__(self, "expression", expression)
        object.__setattr__(self, "inputs", inputs)

    def __bool__(self) -> bool:
        return decide(self)

    def negated(self) -> Test:
        """The opposite."""
        return Test(f"not ({self.expression})", self.inputs)


def truth(value: Value) -> bool:
    """Whether a value of the run is true, as `if` asks it."""
    return decide(Test(VALUE, [(VALUE, link_of(value))]))


def decide(test: Test) -> bool:
    """The way that the trace takes."""
    way = DECIDE.get()
    if way is None:
        refuse(f"branches on {test.inputs[0][1].label}", op("branch"))
    return way(test)


def compared(symbol: str) -> Callable[[Value, Any], Test]:
    """A comparison of a value with a constant or with another value."""

    def method(self: Value, other: Any) -> Test:
        link = link_of(self)
        if symbol not in ("==", "!="):
            refuse_none(link)
        if isinstance(other, Value):
            return Test(f"{VALUE} {symbol} {OTHER}", [(VALUE, link), (OTHER, link_of(other))])
        return Test(f"{VALUE} {symbol} {constant(other, link)}", [(VALUE, link)])

    return method


def is_none(value: Value, negated: bool) -> Any:
    """`is None` and `is not None`."""
    return Test(f"{VALUE} is {'not ' if negated else ''}none", [(VALUE, link_of(value))])


def contained(item: Any, container: Any, negated: bool) -> Any:
    """`in` and `not in`, where one side is a value of the run."""
    word = "not in" if negated else "in"
    if isinstance(item, Value) and isinstance(container, Value):
        return Test(f"{VALUE} {word} {OTHER}", [(VALUE, link_of(item)), (OTHER, link_of(container))])
    if isinstance(item, Value):
        link = link_of(item)
        elements = container if isinstance(container, str) else list(container)
        return Test(f"{VALUE} {word} {constant(elements, link)}", [(VALUE, link)])
    return Test(f"{constant(item, link_of(container))} {word} {VALUE}", [(VALUE, link_of(container))])


def constant(value: Any, beside: Link) -> str:
    """A constant in an expression."""
    if isinstance(value, (list, tuple)) and all(isinstance(item, CONSTANTS) for item in value):
        return f"[{', '.join(constant(item, beside) for item in value)}]"
    if not isinstance(value, CONSTANTS):
        refuse(f"compares {beside.label} with a {type(value).__name__}", op("branch"))
    found = to_json(value)
    if found is None or isinstance(found, bool):
        return {None: "none", True: "true", False: "false"}[found]
    if isinstance(found, str):
        escaped = found.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"'{escaped}'"
    return repr(found)


def may_be_none(value: Value) -> bool:
    """Whether `is None` of a value depends on the run."""
    from .annotation import Unknown

    kind = link_of(value).annotation
    return kind is not Unknown and is_optional(kind)
