"""`+ - * /` between symbolic values and plain ones, as ops."""

from __future__ import annotations

from typing import Any

from .annotation import is_list, is_number, is_text
from .computed import computed
from .link import Link, Operation
from .refusal import op, refuse
from .template import text_of_texts
from .value import Value, link_of


def combined(name: str, left: Any, right: Any) -> Value:
    """The op for `left NAME right`."""
    links = [link_of(side) for side in (left, right) if isinstance(side, Value)]
    kinds = [link.annotation for link in links] + [type(side) for side in (left, right) if not isinstance(side, Value)]
    if name == "add" and all(is_text(kind) for kind in kinds):
        return text_of_texts([left, right], "adds")
    if name == "add" and all(is_list(kind) for kind in kinds):
        return _joined_lists(left, right)
    if all(is_number(kind) for kind in kinds):
        return _number(name, left, right, kinds)
    labels = " and ".join(link.label for link in links)
    refuse(f"`{name}` of {labels} is neither numbers, texts nor lists", op("render"))


def _number(name: str, left: Any, right: Any, kinds: list[Any]) -> Value:
    config: dict[str, Any] = {}
    feeds: list[tuple[str, Link]] = []
    for side, value in (("left", left), ("right", right)):
        if isinstance(value, Value):
            feeds.append((side, link_of(value)))
        else:
            config[side] = value
    result = float if name == "divide" or float in kinds else int
    raises = "`/`" if name == "divide" else None
    return Value(Operation(name, config, feeds, "value", raises).link(result))


def remainder(value: Value, divisor: Any) -> Value:
    """`value % divisor`. The server computes it in another way if the divisor is negative."""
    link = link_of(value)
    if not isinstance(divisor, int) or divisor <= 0 or link.annotation is not int:
        refuse(f"computes `%` of {link.label} with another divisor than a positive whole number", op("render"))
    return Value(computed(f"value % {int(divisor)}", link, int))


def _joined_lists(left: Any, right: Any) -> Value:
    if not isinstance(left, Value) and not left:
        return right  # type: ignore[no-any-return]
    if not isinstance(right, Value) and not right:
        return left
    from .container import collected

    links = [link_of(side) if isinstance(side, Value) else collected(side) for side in (left, right)]
    config = {"inputs": ["left", "right"]}
    feeds = list(zip(("left", "right"), links, strict=True))
    return Value(Operation("concat", config, feeds, "value").link(links[0].annotation))
