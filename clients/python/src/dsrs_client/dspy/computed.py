"""What a Jinja expression says of one value (`len`, slices, `sorted`, `set`), as ops."""

from __future__ import annotations

from typing import Any

from .annotation import is_text, schema_of
from .link import Link, Operation

#: the server does not find a name that a template only takes a slice of
NAMES_VALUE = "{% if value %}{% endif %}"


def computed(expression: str, link: Link, annotation: Any) -> Link:
    """The value of an expression over `value`: a text as it is, anything else written and parsed."""
    template = NAMES_VALUE + "{{ " + expression + " }}"
    text = Operation("render", {"template": template}, [("value", link)], "text").link(str)
    if is_text(annotation):
        return text
    config = {"type": schema_of(annotation)}
    return Operation("parse_structured", config, [("text", text)], "value").link(annotation)


def quoted(text: str) -> str:
    """A constant text in an expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"
