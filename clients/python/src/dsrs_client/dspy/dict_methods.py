"""Methods of dicts of the run, with the meaning that they have in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

from .annotation import element_of, is_dict, list_of
from .computed import FAILS, quoted
from .link import Link, required
from .refusal import op, refuse
from .structure import joined, type_of
from .terms import Terms
from .text_methods import Method
from .value import Value, link_of


def _get(link: Link, key: Any, default: Any = None) -> Value:
    terms = Terms(link)
    name, kind = _key(terms, key), element_of(link.annotation)
    found = "value" if is_dict(link.annotation) else f"(value if value is mapping else {FAILS})"
    if default is None:
        return terms.result(f"{found}.get({name})", Any if kind is Any else Optional[kind])
    if isinstance(default, Value):
        otherwise = terms.name(link_of(default))
    elif isinstance(default, (bool, int, float)):
        otherwise = repr(default).lower()
    elif isinstance(default, (str, list, dict)) and (isinstance(default, str) or not default):
        otherwise = quoted(default) if isinstance(default, str) else repr(default)
    else:
        refuse(f"calls `.get` of {link.label} with a default that is a {type(default).__name__}", op("unwrap_or"))
    kinds = [kind] if isinstance(default, (list, dict)) and not default else [kind, type_of(default)]
    return terms.result(f"{found}.get({name}, {otherwise})", joined(kinds))


def _key(terms: Terms, key: Any) -> str:
    return terms.text(key, "`.get`")


def _parts(expression: str, kind: Callable[[Any], Any]) -> Callable[[Link], Value]:
    return lambda link: Terms(link).result(expression, kind(element_of(link.annotation)))


METHODS: dict[str, Callable[..., Any]] = {
    "get": _get,
    "keys": _parts("value.keys()", lambda _: list[str]),
    "values": _parts("value.values()", lambda kind: list_of(kind)),
    "items": _parts("value.items()", lambda kind: list[tuple[str, kind]]),  # type: ignore[valid-type]
}


def method_of(link: Link, name: str) -> Method | None:
    """A method of a dict, before it is called."""
    if name not in METHODS or not (is_dict(link.annotation) or (name == "get" and link.annotation is Any)):
        return None
    from .annotation import may_be_none

    given = required(link, f"`.{name}`") if may_be_none(link.annotation) else link
    return Method(given, name, METHODS[name])
