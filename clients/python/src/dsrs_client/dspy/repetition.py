"""Whether a second trace draws another graph than the first one, and where. Knows no program."""

from __future__ import annotations

from collections.abc import Callable

from .draft import Draft
from .place import Place
from .refusal import Stop


def difference(first: Draft, trace: Callable[[], Draft]) -> tuple[str, Place | None] | None:
    """What differs in the second trace, and its line."""
    try:
        second = trace()
    except Stop as stop:
        return f"{stop.reason.what} when it is called again", stop.reason.place
    if second.definition("", None) == first.definition("", None):
        return None
    return "draws another graph when it is called again", _place(first, second)


def _place(first: Draft, second: Draft) -> Place | None:
    """The line of the first node that differs."""
    for name, node in second.nodes.items():
        if first.nodes.get(name) != node:
            return second.places.get(name)
    return next((edge.place for edge, other in zip(second.edges, first.edges, strict=False) if edge != other), None)
