"""Python's own functions on values of the run: which ops they are, and what is refused."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

from dspy.dsp.utils.utils import deduplicate

from .annotation import element_of, is_list, is_text, plural
from .computed import computed, computed_of, refuse_none, rendered
from .container import collected
from .decided import Decided
from .link import Link, Operation
from .refusal import op, refuse
from .structure import constant
from .text_functions import represented, written
from .value import Value, link_of

METHODS_OF_CONTAINERS = {
    "append", "insert", "copy", "clear", "pop", "update", "get", "keys", "values", "items", "setdefault", "extend",
    "toDict", "with_inputs", "inputs", "labels", "without", "appendleft", "popleft",
}  # fmt: skip
METHODS_OF_SPLICED = {"append", "extend", "copy", "clear"}
#: functions that move values and never look into them
STRUCTURAL: tuple[Any, ...] = (
    enumerate, zip, reversed, iter, next, list, tuple, dict, len, isinstance, issubclass, hasattr, getattr, type,
    callable, id, bool, copy.copy, copy.deepcopy, itertools.chain,
)  # fmt: skip


def number(kind: type) -> Callable[..., Value]:
    """`int()` or `float()` of a value."""

    def convert(value: Any, *more: Any) -> Value:
        if isinstance(value, Decided) and kind is float and not more:
            return convert(value.value)
        if more or not isinstance(value, Value):
            what = "with a base" if more else f"of a `{type(value).__name__}` of values of the run"
            refuse(f"calls `{kind.__name__}` {what}", op("coerce"))
        link, raises = link_of(value), f"`{kind.__name__}()`"
        refuse_none(link)
        if link.annotation is kind:
            return value
        if link.annotation is bool:
            numbers = "1 if value else 0" if kind is int else "1.0 if value else 0.0"
            return Value(_parsed(rendered(f"{{{{ {numbers} }}}}", link), raises, kind))
        if kind is int and link.annotation is float:
            return Value(_parsed(rendered("{{ value|int }}", link), raises, int))
        if not is_text(link.annotation) and link.annotation is not int:
            refuse(f"reads {link.label}, {plural(link.annotation)}, as a number", op("coerce"))
        config = {"type": kind.__name__, "strict": True}
        return Value(Operation("coerce", config, [("value", link)], "value", raises).link(kind))

    return convert


def _parsed(text: Link, raises: str, kind: type) -> Link:
    config = {"type": kind.__name__, "strict": True}
    return Operation("parse_structured", config, [("text", text)], "value", raises).link(kind)


def _of_numbers(name: str) -> Callable[..., Value]:
    def compute(*values: Any, **named: Any) -> Value:
        _refuse_named(name, named)
        links = [_number_link(name, value) for value in values]
        for link in links:
            refuse_none(link)
        names = [f"item_{number}" for number in range(1, len(links) + 1)]
        feeds = list(zip(names, links, strict=True))
        raises = None if name == "sum" else f"`{name}()`"
        operation = Operation(name, {"inputs": names}, feeds, "value", raises)
        return Value(operation.link(_number_of(name, links)))

    return compute


def _number_link(name: str, value: Any) -> Link:
    """A value or a list of the run, or a constant number beside it."""
    if isinstance(value, (Value, list, tuple)):
        return collected(value)
    if type(value) in (int, float):
        return constant(value)
    refuse(f"calls `{name}` with the constant {value!r} beside values of the run", op("branch"))


def _refuse_named(name: str, named: dict[str, Any]) -> None:
    if named:
        refuse(f"calls `{name}` with `{next(iter(named))}=` over a value of the run", op("render"))


def _number_of(name: str, links: list[Link]) -> type:
    kinds = {element_of(link.annotation) if is_list(link.annotation) else link.annotation for link in links}
    return int if kinds == {int} and name != "mean" else float


def _of_list(name: str, expression: str) -> Callable[..., Value]:
    def compute(values: Any, *, reverse: bool = False, **named: Any) -> Value:
        _refuse_named(name, named)
        link = collected(values)
        refuse_none(link)
        if not is_list(link.annotation):
            refuse(f"goes through {link.label}, which is no list", op("map"))
        filtered = expression.replace(")", ", reverse=true)") if reverse else expression
        return Value(computed(filtered, link, link.annotation) if filtered else link)

    return compute


def _length(values: Any) -> Value:
    return Value(computed("value|length", collected(values), int))


def _part(value: Any, name: Any, *default: Any) -> Any:
    if default or not isinstance(name, str):
        refuse(f"branches on the parts of {_label(value)}", op("branch"))
    return getattr(value, name)


def _refused(what: str, nearest: str) -> Callable[..., Any]:
    def refusal(value: Any, *_: Any, **__: Any) -> Any:
        refuse(what.format(_label(value)), op(nearest))

    return refusal


def _label(value: Any) -> str:
    """How messages call an argument."""
    return link_of(value).label if isinstance(value, Value) else "a value of the run"


def _positions(values: Any, start: Any = 0) -> Value:
    """`enumerate`."""
    if isinstance(start, Value) or not isinstance(values, Value):
        refuse("numbers values from a number of the run", op("map"))
    link = link_of(values)
    kind: Any = list[tuple[int, element_of(link.annotation)]]  # type: ignore[misc]
    return Value(computed(f"range({start}, {start} + value|length)|zip(value)", link, kind))


def _zipped(*values: Any, strict: Any = False) -> Value:
    """`zip`: as many as the shortest has."""
    if strict is not False:
        refuse("calls `zip` with `strict=` over values of the run", op("map"))
    links = [collected(list(each) if isinstance(each, range) else each) for each in values]
    for link in links:
        if not is_list(link.annotation):
            refuse(f"goes through {link.label}, which is no list", op("map"))
    names = [f"value_{number}" for number in range(1, len(links) + 1)]
    kinds = tuple(element_of(link.annotation) for link in links)
    expression = f"{names[0]}|zip({', '.join(names[1:])})"
    kind: Any = list[tuple[kinds]]  # type: ignore[valid-type]
    return Value(computed_of(expression, list(zip(names, links, strict=True)), kind))


def _numbers(*limits: Any) -> Value:
    """`range`."""
    from .terms import Terms

    first = next(link_of(limit) for limit in limits if isinstance(limit, Value))
    terms = Terms(first)
    return terms.result(f"range({', '.join(_limit(terms, limit, first) for limit in limits)})", list[int])


def _limit(terms: Any, limit: Any, first: Link) -> str:
    if not isinstance(limit, Value):
        return str(int(limit))
    link = link_of(limit)
    if link.annotation is not int:
        refuse(f"counts to {link.label}, {plural(link.annotation)}", op("coerce"))
    return "value" if link is first else str(terms.name(link))


def _truths(function: Any) -> Callable[..., Any]:
    """`any` and `all` of a list of the run."""

    def test(values: Any) -> Any:
        from .decision import VALUE, Test

        filtered, count = ("select", "> 0") if function is any else ("reject", "== 0")
        link = collected(values)
        refuse_none(link)
        kind = element_of(link.annotation)
        if not (is_text(kind) or kind in (int, float, bool)):
            refuse(f"decides by the truth of the elements of {link.label}", op("branch"))
        return Test(f"({VALUE}|{filtered}|list|length) {count}", [(VALUE, link)])

    return test


BUILTINS: dict[Any, Callable[..., Any]] = {
    str: written,
    int: number(int),
    float: number(float),
    sum: _of_numbers("sum"),
    min: _of_numbers("min"),
    max: _of_numbers("max"),
    len: _length,
    getattr: _part,
    isinstance: _refused("branches on the type of {}", "branch"),
    callable: _refused("branches on the type of {}", "branch"),
    hasattr: _refused("branches on the parts of {}", "branch"),
    type: _refused("branches on the type of {}", "branch"),
    bool: _refused("branches on {}", "branch"),
    id: _refused("branches on the identity of {}", "branch"),
    list: _of_list("list", ""),
    set: _of_list("set", "value|unique(case_sensitive=true)"),
    sorted: _of_list("sorted", "value|sort(case_sensitive=true)"),
    deduplicate: _of_list("deduplicate", "value|unique(case_sensitive=true)"),
    repr: represented,
    enumerate: _positions,
    zip: _zipped,
    range: _numbers,
    any: _truths(any),
    all: _truths(all),
    reversed: _of_list("reversed", "value|reverse|list"),
    **dict.fromkeys((iter, next, map, filter, tuple), _refused("goes through {}", "map")),
    ascii: _refused("writes Python's notation of {}", "render"),
}
