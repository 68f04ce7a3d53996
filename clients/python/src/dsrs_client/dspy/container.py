"""Lists, dicts and classes with symbolic values in them, as `collect` ops."""

from __future__ import annotations

from typing import Any

from .link import Link, Operation
from .refusal import op, refuse
from .value import Value, link_of


def holds_value(value: Any) -> bool:
    """Whether a symbolic value is in it, at any depth of lists, tuples and dicts."""
    if isinstance(value, Value):
        return True
    if isinstance(value, (list, tuple, set)):
        return any(holds_value(item) for item in value)
    return isinstance(value, dict) and any(holds_value(item) for item in value.values())


def collected(value: Any) -> Link:
    """A list or tuple as one value."""
    if isinstance(value, Value):
        return link_of(value)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, (Value, list, tuple)) for item in value):
        refuse("mixes values of the run with constants in one container", op("collect"))
    links = [collected(item) for item in value]
    names = [f"item_{number}" for number in range(1, len(links) + 1)]
    config: dict[str, Any] = {"as": "list", "inputs": names}
    kinds = {repr(link.annotation): link.annotation for link in links}
    annotation: Any = list[next(iter(kinds.values()))] if len(kinds) == 1 else list[Any]  # type: ignore[misc]
    return Operation("collect", config, list(zip(names, links, strict=True)), "value").link(annotation)


