"""Texts made of constants and values (f-strings, `+`, `.format`, `str()`), as `render` ops."""

from __future__ import annotations

from typing import Any

from .annotation import is_number, is_text, plural
from .link import Link, Operation
from .refusal import op, refuse
from .value import Value, link_of


def text_of_parts(parts: list[Any]) -> Value:
    """The op that writes constants and values one after another."""
    template = ""
    feeds: list[tuple[str, Link]] = []
    for part in parts:
        if isinstance(part, Value):
            slot = f"part_{len(feeds) + 1}"
            feeds.append((slot, _writable(link_of(part))))
            template += f"{{{slot}}}"
        else:
            template += str(part).replace("{", "{{").replace("}", "}}")
    return Value(Operation("render", {"fstring": template}, feeds, "text").link(str))


def _writable(link: Link) -> Link:
    if is_text(link.annotation) or is_number(link.annotation):
        return link
    refuse(
        f"writes {link.label}, {plural(link.annotation)}, into a text: the graph writes it in another notation",
        op("render"),
    )
