"""What a Jinja expression says of values (`len`, slices, `sorted`, `.split`), as ops."""

from __future__ import annotations

from typing import Any

from .annotation import is_delimited, is_text, list_of, may_be_none, plural, schema_of
from .link import Link, Operation
from .refusal import op, refuse

#: an expression that fails the node, as an exception ends a program
FAILS = "('no value'|int)"


def computed(expression: str, link: Link, annotation: Any) -> Link:
    """The value of an expression over `value`."""
    return computed_of(expression, [("value", link)], annotation)


def computed_of(expression: str, inputs: list[tuple[str, Link]], annotation: Any) -> Link:
    """The value of an expression over its inputs: a text as it is, anything else written and parsed."""
    for _, link in inputs:
        refuse_none(link)
    if is_text(annotation) and not may_be_none(annotation):
        return rendered_of("{{ " + expression + " }}", inputs)
    if is_delimited(annotation):
        return parsed(rendered_of("{{ " + expression + " }}", inputs), annotation)
    one = parsed(rendered_of("{{ [" + expression + "] }}", inputs), list_of(annotation))
    return one.element(0, annotation)


def parsed(text: Link, annotation: Any, raises: str | None = None) -> Link:
    """A text of JSON as a value. The parser repairs nothing."""
    config = {"type": schema_of(annotation), "strict": True}
    return Operation("parse_structured", config, [("text", text)], "value", raises).link(annotation)


def rendered(template: str, link: Link) -> Link:
    """The text of a Jinja template over `value`."""
    return rendered_of(template, [("value", link)])


def rendered_of(template: str, inputs: list[tuple[str, Link]]) -> Link:
    """The text of a Jinja template. The server does not find a name that a template only takes a slice of."""
    names = "".join(f"{{% if {name} %}}{{% endif %}}" for name, _ in inputs)
    return Operation("render", {"template": names + template}, inputs, "text").link(str)


def refuse_none(link: Link) -> None:
    """Refuses a value that may be `None`, where Python raises a `TypeError` and a template does not."""
    if may_be_none(link.annotation):
        refuse(f"uses {link.label}, {plural(link.annotation)}, as if it were never `None`", op("unwrap_or"))


def quoted(text: str) -> str:
    """A constant text in an expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"
