"""`"…" % values` with values of the run: the slots of Python's older format, as those of the newer one."""

from __future__ import annotations

import re
from typing import Any

from .annotation import plural
from .contents import holds_value
from .refusal import op, refuse
from .template import text_of_parts
from .text_functions import part_of_text
from .value import Value, link_of

SLOT = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-0 +#]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*))?(?P<kind>[a-zA-Z%])"
)


def percent(template: str, values: Any) -> Any:
    """The text; one of constants is Python's own."""
    if not holds_value(values):
        return template % values
    given = list(values) if isinstance(values, tuple) else [values]
    parts: list[Any] = []
    end = used = 0
    for slot in SLOT.finditer(template):
        parts.append(template[end : slot.start()])
        end = slot.end()
        if slot["kind"] == "%":
            parts.append("%")
            continue
        if slot["key"] is not None:
            value = values[slot["key"]]
        elif used < len(given):
            value, used = given[used], used + 1
        else:
            raise TypeError("not enough arguments for format string")
        parts.append(_part(slot, value))
    if used < len(given) and not isinstance(values, dict):
        raise TypeError("not all arguments converted during string formatting")
    return text_of_parts([*parts, template[end:]])


def _part(slot: re.Match[str], value: Any) -> Any:
    """A value as one slot writes it."""
    if not holds_value(value):
        return slot.group().replace(f"({slot['key']})", "") % (value,)
    if "*" in (slot["width"], slot["precision"]) or "#" in slot["flags"]:
        refuse(f"writes a value with `{slot.group()}`", op("format"))
    if slot["kind"] in "sr":
        return part_of_text(value, slot["kind"], _spec(slot, ">", ""))
    kind = link_of(value).annotation if isinstance(value, Value) else type(value)
    if kind not in ((int,) if slot["kind"] in "di" else (int, float)) or slot["kind"] not in "dieEfFgG":
        label = f"{link_of(value).label}, {plural(kind)}," if isinstance(value, Value) else f"a `{kind.__name__}`"
        refuse(f"writes {label} with `{slot.group()}`", op("format"))
    return part_of_text(value, "", _spec(slot, "", "d" if slot["kind"] == "i" else slot["kind"]))


def _spec(slot: re.Match[str], right: str, kind: str) -> str:
    """The format of a slot. Texts are on the right of a wide slot, unless it has a `-`."""
    flags, width = slot["flags"], slot["width"] or ""
    side = ("<" if "-" in flags else right) if width else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zero = "0" if "0" in flags and not side and kind else ""
    precision = f".{slot['precision']}" if slot["precision"] else ""
    spec = f"{side}{sign if kind else ''}{zero}{width}{precision}{kind}"
    return "" if spec == "d" else spec
