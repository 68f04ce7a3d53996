"""Python's own functions on values of the run: which ops they are, and what is refused."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from dspy.dsp.utils.utils import deduplicate

from .annotation import element_of, is_list, is_number, is_text
from .computed import computed, quoted
from .container import collected, holds_splice
from .link import Link, Operation
from .refusal import op, refuse
from .template import text_of_parts
from .value import Value, link_of

METHODS_OF_CONTAINERS = {
    "append", "insert", "copy", "clear", "pop", "update", "get", "keys", "values", "items", "setdefault", "extend",
    "toDict", "with_inputs", "inputs", "labels", "without",
}  # fmt: skip
METHODS_OF_SPLICED = {"append", "extend", "copy", "clear"}


def text_method(function: Any) -> Callable[..., Value] | None:
    """`"…".join` and `"…".format`, bound to a constant text."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if not isinstance(owner, str) or isinstance(function, type):
        return None
    return {"join": lambda items: _join(owner, items), "format": _format_of(owner)}.get(name)


def _join(separator: str, items: Any) -> Value:
    if isinstance(items, Value):
        link = link_of(items)
        if not is_list(link.annotation):
            refuse(f"joins {link.label}, which is no list", op("render"))
        return Value(computed(f"value|join({quoted(separator)})", link, str))
    if holds_splice(items):
        return _join(separator, Value(collected(items)))
    parts: list[Any] = []
    for number, item in enumerate(items):
        parts += [separator, item] if number else [item]
    return text_of_parts(parts)


def _format_of(template: str) -> Callable[..., Value]:
    def formatted(*arguments: Any, **named: Any) -> Value:
        parts: list[Any] = []
        for number, (literal, name, spec, conversion) in enumerate(string.Formatter().parse(template)):
            parts.append(literal)
            if name is None:
                continue
            if spec or conversion or (name and not name.isidentifier() and not name.isdigit()):
                refuse(f"`.format` with the slot `{{{name}}}` that is more than a name", op("format"))
            key = int(name) if name.isdigit() else name or number
            parts.append(arguments[key] if isinstance(key, int) else named[key])
        return text_of_parts(parts)

    return formatted


def _converted(kind: type) -> Callable[[Any], Value]:
    def convert(value: Any) -> Value:
        link = link_of(value)
        if kind is str and is_text(link.annotation):
            return Value(link)
        if kind is str and not is_number(link.annotation):
            refuse(f"writes {link.label} as a text: the graph writes it in another notation", op("coerce"))
        return Value(Operation("coerce", {"type": kind.__name__}, [("value", link)], "value").link(kind))

    return convert


def _of_numbers(name: str) -> Callable[..., Value]:
    def compute(*values: Any) -> Value:
        links = [collected(value) for value in values]
        names = [f"item_{number}" for number in range(1, len(links) + 1)]
        feeds = list(zip(names, links, strict=True))
        return Value(Operation(name, {"inputs": names}, feeds, "value").link(_number_of(name, links)))

    return compute


def _number_of(name: str, links: list[Link]) -> type:
    kinds = {element_of(link.annotation) if is_list(link.annotation) else link.annotation for link in links}
    return int if kinds == {int} and name != "mean" else float


def _of_list(expression: str) -> Callable[..., Value]:
    def compute(values: Any) -> Value:
        link = collected(values)
        if not is_list(link.annotation):
            refuse(f"goes through {link.label}, which is no list", op("map"))
        return Value(computed(expression, link, link.annotation) if expression else link)

    return compute


def _length(values: Any) -> Value:
    return Value(computed("value|length", collected(values), int))


def _refused(what: str, nearest: str) -> Callable[..., Any]:
    def refusal(value: Any, *_: Any, **__: Any) -> Any:
        label = link_of(value).label if isinstance(value, Value) else "a value of the run"
        refuse(what.format(label), op(nearest))

    return refusal


BUILTINS: dict[Any, Callable[..., Any]] = {
    str: _converted(str),
    int: _converted(int),
    float: _converted(float),
    sum: _of_numbers("sum"),
    min: _of_numbers("min"),
    max: _of_numbers("max"),
    print: lambda *_, **__: None,
    len: _length,
    isinstance: _refused("branches on the type of {}", "branch"),
    hasattr: _refused("branches on the parts of {}", "branch"),
    type: _refused("branches on the type of {}", "branch"),
    bool: _refused("branches on {}", "branch"),
    list: _of_list(""),
    set: _of_list("value|unique(case_sensitive=true)"),
    sorted: _of_list("value|sort(case_sensitive=true)"),
    deduplicate: _of_list("value|unique(case_sensitive=true)"),
    repr: _refused("writes Python's notation of {}", "render"),
}
