"""How Python writes a value of the run into a text: as it is, in Python's notation, or by the name of a member."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NoReturn

from .annotation import is_enum, is_json, is_text, may_be_none, plural, without_null
from .computed import quoted, rendered
from .link import Link
from .refusal import op, refuse

#: how Python writes a constant, by the conversion of its slot
WRITERS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


@dataclass(frozen=True)
class Slot:
    """A value at its place in a text: `{value!conversion:spec}`."""

    value: Any
    conversion: str = ""
    spec: str = ""


def slot_of(link: Link, slot: Slot) -> tuple[Link, str]:
    """What feeds the slot, and what follows its name in the op `format`: a conversion and a format."""
    kind = link.annotation
    if is_enum(without_null(kind)):
        link, how = member_text(link, WRITERS.get(slot.conversion, format)), ""
    elif slot.spec and not slot.conversion:
        _check_spec(link, slot.spec)
        how = ""
    elif slot.conversion != "r" and (kind is int or (is_text(kind) and not may_be_none(kind))):
        how = ""
    elif slot.conversion in ("", "s", "r") and is_json(kind):
        how = f"!{slot.conversion or 's'}"
    else:
        _refuse(link)
    return link, f"{how}:{slot.spec}" if slot.spec else how


def _check_spec(link: Link, spec: str) -> None:
    """A format that Python reads as the server does: of a text or a number, with a type letter after a precision."""
    kind = link.annotation
    if may_be_none(kind):
        refuse(f"formats {link.label}, {plural(kind)}, as if it were never `None`", op("unwrap_or"))
    if kind not in (int, float) and not is_text(kind):
        _refuse(link)
    if kind in (int, float) and "." in spec and spec[-1:].isdigit():
        refuse(f"formats {link.label} with `{spec}`, which has no type letter such as `f`", op("format"))


def _refuse(link: Link) -> NoReturn:
    kind = plural(link.annotation)
    refuse(f"writes {link.label}, {kind}, into a text: the graph writes it in another notation", op("render"))


def member_text(link: Link, write: Callable[[Any], str]) -> Link:
    """The text that Python writes for a member of an enum."""
    kind: Any = without_null(link.annotation)
    texts = {member.value: write(member) for member in kind}
    if all(value == text for value, text in texts.items()) and not may_be_none(link.annotation):
        return link.typed(str)
    cases = [(_constant(link, value), text) for value, text in texts.items()]
    if may_be_none(link.annotation):
        cases.insert(0, ("none", "None"))
    tests = "".join(
        f"{{% {'elif' if number else 'if'} value == {value} %}}{{{{ {quoted(text)} }}}}"
        for number, (value, text) in enumerate(cases)
    )
    return rendered(f"{tests}{{% endif %}}", link)


def member_value(link: Link) -> Link:
    """`.value` of a member of an enum, which is how the graph holds it."""
    kinds = {type(member.value) for member in link.annotation}
    if len(kinds) != 1:
        refuse(f"`.value` of {link.label}, an enum with values of several types", op("render"))
    values = tuple(member.value for member in link.annotation)
    return link.typed(Literal[values] if kinds == {str} else kinds.pop())


def _constant(link: Link, value: Any) -> str:
    if not isinstance(value, (str, int, float)) or isinstance(value, Enum):
        refuse(f"writes {link.label}, an enum with values that are no texts or numbers, into a text", op("render"))
    return quoted(value) if isinstance(value, str) else json.dumps(value)
