"""What a program decides by: a test of values of the run. A trace takes one way at each; :mod:`ways` takes them all."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from typing import Any

from .annotation import (
    Unknown,
    element_of,
    is_class,
    is_enum,
    is_optional,
    may_be_none,
    plural,
    schema_of,
    values_of,
    without_null,
)
from .comparing import JSON, NUMBER, TEXT, category, category_of_constant, has_order, may_be_equal
from .computed import FAILS, quoted, refuse_none
from .json_value import to_json
from .link import Link, Operation
from .refusal import op, refuse
from .value import Value, link_of

#: which way a trace takes at a test
DECIDE: ContextVar[Callable[[Test], bool] | None] = ContextVar("DECIDE", default=None)
#: the names of values in an expression, and of the inputs of a node that decides
VALUE, OTHER = "condition", "condition_other"
CONSTANTS = (str, int, float, bool, type(None), Enum)
#: the largest whole number of an expression
LARGEST = 2**127 - 1


class Test(Value):
    """The truth of an expression over values: a `bool` of the run, which may also decide."""

    __slots__ = ("expression", "inputs")

    def __init__(self, expression: str, inputs: list[tuple[str, Link]]) -> None:
        named = "".join(f"{{% if {name} %}}{{% endif %}}" for name, _ in inputs)
        template = f"{named}{{{{ true if {expression} else false }}}}"
        text = Operation("render", {"template": template}, inputs, "text").link(str)
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
    """Whether a value of the run is true, as `if` asks it. Objects and members of an enum are."""
    link = link_of(value)
    inner = without_null(link.annotation)
    if is_class(inner) and any(hasattr(inner, name) for name in ("__bool__", "__len__")):
        refuse(f"decides by the truth of {link.label}, {plural(inner)}, which its own code says", op("branch"))
    if is_class(inner) or (is_enum(inner) and not issubclass(inner, (str, int))):
        return decide(Test(f"{VALUE} is not none", [(VALUE, link)])) if may_be_none(link.annotation) else True
    return decide(Test(VALUE, [(VALUE, link)]))


def test_of(value: Value) -> Test:
    """The truth of a value, without a decision."""
    return value if isinstance(value, Test) else Test(VALUE, [(VALUE, link_of(value))])


def decide(test: Test) -> bool:
    """The way that the trace takes."""
    way = DECIDE.get()
    if way is None:
        refuse(f"branches on {test.inputs[0][1].label}", op("branch"))
    return way(test)


def compared(symbol: str) -> Callable[[Value, Any], Any]:
    """A comparison of a value with a constant or with another value."""

    def method(self: Value, other: Any) -> Any:
        link = link_of(self)
        kinds = [category(link.annotation), _category(other)]
        if symbol not in ("==", "!="):
            return _ordered(symbol, link, other, kinds)
        found = may_be_equal(*kinds)
        if found is None:
            _refuse(link, other)
        if not found:
            return symbol == "!="
        right, more = _operand(other, link)
        return Test(f"{VALUE} {symbol} {right}", [(VALUE, link), *more])

    return method


def _ordered(symbol: str, link: Link, other: Any, kinds: list[Any]) -> Test:
    """`<` and its relatives: a value that is no number or text where Python needs one fails the node."""
    refuse_none(link)
    if isinstance(other, Value):
        refuse_none(link_of(other))
    right, more = _operand(other, link)
    if kinds[0] == JSON and kinds[1] in (NUMBER, TEXT):
        kind = "number" if kinds[1] == NUMBER else "string"
        return Test(f"({VALUE} if {VALUE} is {kind} else {FAILS}) {symbol} {right}", [(VALUE, link), *more])
    if not has_order(*kinds):
        _refuse(link, other)
    left = f"(1 if {VALUE} else 0)" if link.annotation is bool else VALUE
    return Test(f"{left} {symbol} {right}", [(VALUE, link), *more])


def _category(side: Any) -> Any:
    return category(link_of(side).annotation) if isinstance(side, Value) else category_of_constant(side)


def _operand(side: Any, beside: Link) -> tuple[str, list[tuple[str, Link]]]:
    """The right side of a comparison, and what feeds it. `True` is 1 in an order."""
    if not isinstance(side, Value):
        return constant(int(side) if isinstance(side, bool) and beside.annotation is not bool else side, beside), []
    link = link_of(side)
    return (f"(1 if {OTHER} else 0)" if link.annotation is bool else OTHER), [(OTHER, link)]


def _refuse(link: Link, other: Any) -> Any:
    kind = plural(link_of(other).annotation if isinstance(other, Value) else type(other))
    refuse(
        f"compares {link.label}, {plural(link.annotation)}, with {kind}",
        f"Compare its texts or numbers. {op('branch')}",
    )


def is_none(value: Value, negated: bool) -> Any:
    """`is None` and `is not None`."""
    return Test(f"{VALUE} is {'not ' if negated else ''}none", [(VALUE, link_of(value))])


def same_constant(value: Value, other: Any) -> Test | None:
    """`is` with a constant of which there is one object: `True`, `False` or a member of an enum."""
    link = link_of(value)
    inner = without_null(link.annotation)
    if isinstance(other, bool) and inner is bool:
        return Test(f"{VALUE} is {'true' if other else 'false'}", [(VALUE, link)])
    if isinstance(other, Enum) and inner is type(other):
        return Test(f"{VALUE} == {constant(other, link)}", [(VALUE, link)])
    return None


def routed(routes: dict[Any, Any], key: Value) -> Any:
    """The value of a dict of the program whose key the run decides: each key is a way."""
    link = link_of(key)
    known = values_of(link.annotation)
    if known is None or not all(each in routes for each in known):
        refuse(f"uses {link.label} as a key of a dict that may lack it", f"Use `if`, or a `Literal`. {op('branch')}")
    for each in known[:-1]:
        if compared("==")(key, each):
            return routes[each]
    return routes[known[-1]]


def contained(item: Any, container: Any, negated: bool) -> Any:
    """`in` and `not in`, where one side is a value of the run."""
    word = "not in" if negated else "in"
    if isinstance(container, Value):
        return _in_value(item, link_of(container), word)
    link = link_of(item)
    if isinstance(container, str):
        refuse_none(link)
        if category(link.annotation) != TEXT:
            _refuse(link, container)
        return Test(f"{VALUE} {word} {constant(container, link)}", [(VALUE, link)])
    return _in_constants(item, link, list(container), negated)


def _in_value(item: Any, container: Link, word: str) -> Any:
    refuse_none(container)
    kind, of_item = category(container.annotation), _category(item)
    element = (
        TEXT
        if kind == TEXT or (isinstance(kind, tuple) and kind[0] is dict)
        else category(element_of(container.annotation))
    )
    if kind == TEXT and isinstance(item, Value):
        refuse_none(link_of(item))
    found = may_be_equal(element, of_item)
    if found is None or (kind == TEXT and of_item != TEXT):
        _refuse(container, item)
    if not found:
        return word == "not in"
    if isinstance(item, Value):
        return Test(f"{VALUE} {word} {OTHER}", [(VALUE, link_of(item)), (OTHER, container)])
    return Test(f"{constant(item, container)} {word} {VALUE}", [(VALUE, container)])


def _in_constants(item: Value, link: Link, elements: list[Any], negated: bool) -> Any:
    """Whether a value is one of several: constants that may be equal to it, or other values."""
    if any(isinstance(element, Value) for element in elements):
        found: Any = any_of([compared("==")(item, element) for element in elements])
        return (found.negated() if isinstance(found, Test) else not found) if negated else found
    kind = category(link.annotation)
    equal = [may_be_equal(kind, category_of_constant(element)) for element in elements]
    if None in equal:
        _refuse(link, elements[equal.index(None)])
    fitting = [element for element, fits in zip(elements, equal, strict=True) if fits]
    if not fitting:
        return negated
    return Test(f"{VALUE} {'not in' if negated else 'in'} {constant(fitting, link)}", [(VALUE, link)])


def any_of(tests: list[Any], word: str = "or") -> Any:
    """`any` and `all` of truths that are values of the run or constants."""
    ends = word == "or"
    values = [each for each in tests if isinstance(each, Value)]
    if any(bool(each) is ends for each in tests if not isinstance(each, Value)):
        return ends
    if not values:
        return not ends
    if len(values) == 1:
        return test_of(values[0])
    names = [f"{VALUE}_{number}" for number in range(1, len(values) + 1)]
    links = [link_of(test_of(each)) for each in values]
    return Test(f" {word} ".join(names), list(zip(names, links, strict=True)))


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
        return quoted(found)
    if not math.isfinite(found) or abs(found) > LARGEST:
        refuse(f"compares {beside.label} with {value!r}, which no expression of the server can say", op("branch"))
    return repr(found)


def may_be_null(value: Value) -> bool:
    """Whether `is None` of a value depends on the run."""
    kind = link_of(value).annotation
    return kind is not Unknown and is_optional(kind)
