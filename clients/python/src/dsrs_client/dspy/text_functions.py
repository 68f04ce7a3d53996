"""Python's functions and methods that write texts (`str`, `repr`, `join`, `format`), over values of the run."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from .annotation import element_of, is_list
from .computed import computed, quoted, refuse_none
from .container import collected, holds_splice
from .contents import holds_value
from .decided import Decided
from .link import Link
from .notation import WRITERS, Slot
from .refusal import op, refuse
from .template import check_text, text_of_parts, text_of_texts
from .value import Value, link_of

#: what a list has whose notation the graph writes
WRITTEN = (Value, str, int, float, type(None))


def text_method(function: Any) -> Callable[..., Value] | None:
    """`"…".join` and `"…".format`, bound to a constant text."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if not isinstance(owner, str) or isinstance(function, type):
        return None
    return {"join": lambda items: _join(owner, items), "format": _format_of(owner)}.get(name)


def _join(separator: str, items: Any) -> Value:
    if isinstance(items, Value):
        link = link_of(items)
        refuse_none(link)
        if not is_list(link.annotation):
            refuse(f"joins {link.label}, which is no list", op("render"))
        check_text(link.typed(_texts(link)), "joins the elements of")
        return Value(computed(f"value|join({quoted(separator)})", link, str))
    if holds_splice(items):
        return _join(separator, Value(collected(items)))
    parts: list[Any] = []
    for number, item in enumerate(items):
        parts += [separator, item] if number else [item]
    return text_of_texts(parts, "joins")


def _texts(link: Link) -> Any:
    """The type of the elements; a list without one has texts."""
    element = element_of(link.annotation)
    return str if element is Any else element


def _format_of(template: str) -> Callable[..., Value]:
    def formatted(*arguments: Any, **named: Any) -> Value:
        parts: list[Any] = []
        for number, (literal, name, spec, conversion) in enumerate(string.Formatter().parse(template)):
            parts.append(literal)
            if name is None:
                continue
            if (spec and "{" in spec) or (name and not name.isidentifier() and not name.isdigit()):
                refuse(f"`.format` with the slot `{{{name}}}` that is more than a name", op("format"))
            key = int(name) if name.isdigit() else name or number
            given = arguments[key] if isinstance(key, int) else named[key]
            parts.append(part_of_text(given, conversion or "", spec or ""))
        return text_of_parts(parts)

    return formatted


def part_of_text(value: Any, conversion: str, spec: str) -> Any:
    """A value at its place in a text; a constant as Python writes it."""
    if isinstance(value, Value):
        return Slot(value, conversion, spec)
    if isinstance(value, list) and holds_value(value) and all(isinstance(item, WRITTEN) for item in value):
        return Slot(Value(collected(value)), conversion, spec)
    if isinstance(value, Decided):
        value.whole()
    if holds_value(value):
        refuse(f"writes a `{type(value).__name__}` of values of the run into a text", op("render"))
    converted = WRITERS[conversion](value) if conversion else value
    return format(converted, spec)


def written(value: Any) -> Value:
    """`str(value)`."""
    return text_of_parts([part_of_text(value, "s", "")])


def represented(value: Any) -> Value:
    """`repr(value)`."""
    return text_of_parts([part_of_text(value, "r", "")])
