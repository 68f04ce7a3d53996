"""What a Jinja expression says of one value (`len`, slices, `sorted`, `set`), as ops."""

from __future__ import annotations

from typing import Any

from .annotation import is_text, may_be_none, plural, schema_of
from .link import Link, Operation
from .refusal import op, refuse

#: the server does not find a name that a template only takes a slice of
NAMES_VALUE = "{% if value %}{% endif %}"


def computed(expression: str, link: Link, annotation: Any) -> Link:
    """The value of an expression over `value`: a text as it is, anything else written and parsed."""
    refuse_none(link)
    text = rendered("{{ " + expression + " }}", link)
    if is_text(annotation):
        return text
    config = {"type": schema_of(annotation)}
    return Operation("parse_structured", config, [("text", text)], "value").link(annotation)


def rendered(template: str, link: Link) -> Link:
    """The text of a Jinja template over `value`."""
    return Operation("render", {"template": NAMES_VALUE + template}, [("value", link)], "text").link(str)


def refuse_none(link: Link) -> None:
    """Refuses a value that may be `None`, where Python raises a `TypeError` and a template does not."""
    if may_be_none(link.annotation):
        refuse(f"uses {link.label}, {plural(link.annotation)}, as if it were never `None`", op("unwrap_or"))


def quoted(text: str) -> str:
    """A constant text in an expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"
