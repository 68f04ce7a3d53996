"""Texts made of constants and values (f-strings, `+`, `.format`, `str()`), as `render` and `format` ops."""

from __future__ import annotations

from typing import Any

from .annotation import is_text, may_be_none, plural
from .link import Link, Operation
from .notation import Slot, slot_of
from .refusal import op, refuse
from .value import Value, link_of


def text_of_parts(parts: list[Any]) -> Value:
    """The op that writes constants and values one after another."""
    template = ""
    feeds: list[tuple[str, Link]] = []
    formatted = False
    for part in parts:
        if isinstance(part, (Value, Slot)):
            slot = part if isinstance(part, Slot) else Slot(part)
            link, how = slot_of(link_of(slot.value), slot)
            name = f"part_{len(feeds) + 1}"
            feeds.append((name, link))
            template += f"{{{name}{how}}}"
            formatted = formatted or bool(how)
        else:
            template += str(part).replace("{", "{{").replace("}", "}}")
    strategy, member = ("format", "template") if formatted else ("render", "fstring")
    return Value(Operation(strategy, {member: template}, feeds, "text").link(str))


def text_of_texts(parts: list[Any], what: str) -> Value:
    """The op that joins texts, where Python accepts nothing else."""
    for part in parts:
        if isinstance(part, Value):
            check_text(link_of(part), what)
    return text_of_parts(parts)


def check_text(link: Link, what: str) -> None:
    """Refuses a value that is no text, or may be none."""
    if not is_text(link.annotation):
        refuse(f"{what} {link.label}, {plural(link.annotation)}, which is no text", op("render"))
    if may_be_none(link.annotation):
        refuse(f"{what} {link.label}, {plural(link.annotation)}, as if it were never `None`", op("unwrap_or"))
