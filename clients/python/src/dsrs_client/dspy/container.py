"""Lists, tuples and classes with symbolic values in them, as `collect` and `concat` ops."""

from __future__ import annotations

from typing import Any, NoReturn

from .contents import Symbolic, holds_value
from .link import Link, Operation
from .refusal import op, refuse
from .structure import constant, is_plain_dict, structured
from .value import Value, link_of


class Splice(Symbolic):
    """The elements of a list of the run, at their place in a list of the program (`notes.extend(value)`)."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def _refuse(self, *_: object) -> NoReturn:
        refuse(f"takes one element of a list that {self.link.label} is a part of", op("render"))

    __getitem__ = __bool__ = __eq__ = __str__ = __repr__ = __format__ = __len__ = __iter__ = _refuse
    __hash__ = _refuse


def holds_splice(value: Any) -> bool:
    """Whether the length of a list is not known."""
    return isinstance(value, list) and any(isinstance(item, Splice) for item in value)


def collected(value: Any) -> Link:
    """A list or tuple as one value."""
    if isinstance(value, Value):
        return link_of(value)
    if is_plain_dict(value):
        return structured(value)
    if not isinstance(value, (list, tuple)):
        refuse(f"puts values of the run into a {type(value).__name__}", op("collect"))
    parts = _parts(list(value))
    if len(parts) == 1:
        return parts[0]
    names = [f"part_{number}" for number in range(1, len(parts) + 1)]
    feeds = list(zip(names, parts, strict=True))
    return Operation("concat", {"inputs": names}, feeds, "value").link(parts[0].annotation)


def _parts(items: list[Any]) -> list[Link]:
    """Spliced lists, and lists of what stands between them."""
    parts: list[Link] = []
    single: list[Link] = []
    for item in items:
        if isinstance(item, Splice):
            parts += [*([_list_of(single)] if single else []), item.link]
            single = []
        else:
            single.append(_element(item))
    return [*parts, _list_of(single)] if single else parts


def _element(item: Any) -> Link:
    return collected(item) if holds_value(item) else constant(item)


def _list_of(links: list[Link]) -> Link:
    names = [f"item_{number}" for number in range(1, len(links) + 1)]
    config: dict[str, Any] = {"as": "list", "inputs": names}
    kinds = {repr(link.annotation): link.annotation for link in links}
    annotation: Any = list[next(iter(kinds.values()))] if len(kinds) == 1 else list[Any]  # type: ignore[misc]
    return Operation("collect", config, list(zip(names, links, strict=True)), "value").link(annotation)
