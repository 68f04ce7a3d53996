"""The operands of an expression: constants as they are written, and values of the run by names."""

from __future__ import annotations

from typing import Any

from .annotation import is_text, plural
from .computed import computed_of, quoted, refuse_none
from .link import Link
from .refusal import op, refuse
from .value import Value, link_of


class Terms:
    """The values in one expression."""

    def __init__(self, link: Link) -> None:
        self.inputs: list[tuple[str, Link]] = [("value", link)]

    def text(self, value: Any, what: str) -> str:
        """A text, constant or of the run, as an operand."""
        if isinstance(value, str):
            return quoted(value)
        if not isinstance(value, Value):
            raise TypeError(f"{what} takes a text, not a {type(value).__name__}")
        link = link_of(value)
        refuse_none(link)
        if not is_text(link.annotation):
            refuse(f"{what} takes a text, and {link.label} is {plural(link.annotation)}", op("render"))
        return self.name(link)

    def name(self, link: Link) -> str:
        """A value of the run as an operand."""
        self.inputs.append((f"value_{len(self.inputs) + 1}", link))
        return self.inputs[-1][0]

    def result(self, expression: str, annotation: Any) -> Value:
        """The value of the expression."""
        return Value(computed_of(expression, self.inputs, annotation))


def whole(value: Any, what: str) -> int:
    """A constant whole number."""
    if isinstance(value, Value):
        refuse(f"{what} takes {link_of(value).label} as a number", op("render"))
    if not isinstance(value, int):
        raise TypeError(f"{what} takes a whole number, not a {type(value).__name__}")
    return int(value)
