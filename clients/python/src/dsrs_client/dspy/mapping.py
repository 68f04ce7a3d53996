"""Comprehensions over a list of the run, as `map` nodes: `[self.reply(ticket=ticket).reply for ticket in tickets]`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import dspy

from .annotation import element_of, is_list
from .container import collected
from .contents import Symbolic
from .decision import DECIDE
from .draft import Draft, Edge
from .link import PENDING, Link
from .place import here
from .record import dspy_paths
from .refusal import Fork, op, refuse
from .rounds import Cells, Rounds
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer

ELEMENT = "element"


@dataclass(frozen=True)
class Pairs(Symbolic):
    """`[(self.reply, {"ticket": ticket}) for ticket in tickets]`, for `dspy.Parallel`."""

    values: Value
    function: Callable[[Any], Any]


class Predictions(Symbolic):
    """The predictions of a `map` node: one for each element, known by their fields only."""

    def __init__(self, node: str, outputs: dict[str, Any]) -> None:
        self.node, self.outputs = node, outputs

    def of_element(self) -> Any:
        """One of them, as a comprehension sees it."""
        return dspy.Prediction(
            **{name: Value(Link(f"{ELEMENT}.{name}", "", kind)) for name, kind in self.outputs.items()}
        )

    def _refuse(self, *_: object) -> NoReturn:
        refuse("uses predictions of a `map` in another way than by a field of all of them", op("map"))

    __iter__ = __getitem__ = __len__ = __bool__ = __str__ = __repr__ = __format__ = _refuse


Of = Callable[[Any], Any]


def mapped(tracer: Tracer, values: Any, function: Of, test: Of | None = None) -> Any:
    """The result of a comprehension."""
    if isinstance(values, Predictions) and test is None:
        return _field(function(values.of_element()), ELEMENT, values.node)
    if not isinstance(values, Value):
        return [function(value) for value in values if test is None or test(value)]
    link = link_of(values)
    if not is_list(link.annotation):
        refuse(f"goes through {link.label}, which is no list; declare its type", op("map"))
    if test is None and (made := _of_one_predictor(tracer, link, function)) is not None:
        return made
    found: list[Any] = []

    def body(element: Any) -> None:
        if test is None or test(element):
            found.append(function(element))

    cells = Cells(saved=[(found, [])])
    Rounds(tracer, values, body, cells).run()
    return Value(collected(found))


def _of_one_predictor(tracer: Tracer, link: Link, function: Callable[[Any], Any]) -> Any:
    """The node, where the body only calls one predictor with the element."""
    inner, outer = Draft(inputs=tracer.draft.inputs, taken=set(tracer.draft.nodes)), tracer.draft
    tracer.draft = inner
    # What may raise is written where the body is traced for good.
    token, pending = DECIDE.set(_fork), PENDING.set([])
    try:
        result = function(Value(Link(ELEMENT, "", element_of(link.annotation))))
    except Fork:
        return None
    finally:
        DECIDE.reset(token)
        PENDING.reset(pending)
        tracer.draft = outer
    if isinstance(result, tuple) and not inner.nodes:
        return Pairs(Value(link), function)
    is_field = isinstance(result, dspy.Prediction) or (isinstance(result, Value) and _is_field(result, inner))
    return _result(result, _node(outer, inner, link)) if is_field and _is_one(inner) else None


def _fork(_: Any) -> bool:
    raise Fork


def _fed(inner: Draft) -> list[Edge]:
    return [edge for edge in inner.edges if edge.source.split(".")[0].split("[")[0] == ELEMENT]


def _is_one(inner: Draft) -> bool:
    fed = _fed(inner)
    has_outer = any(edge.source.split(".")[0] in inner.nodes for edge in inner.edges)
    return len(inner.nodes) == 1 and len(fed) == 1 and fed[0].source == ELEMENT and not has_outer


def _is_field(result: Value, inner: Draft) -> bool:
    link = link_of(result)
    return not link.path and isinstance(link.source, str) and link.source.split(".")[0] in inner.nodes


def _node(outer: Draft, inner: Draft, link: Link) -> str:
    """Writes the one node of the body as the module of a `map` node; returns its name."""
    fed = _fed(inner)
    [(node, body)] = inner.nodes.items()
    module = {key: body[key] for key in ("strategy", "signature", "config") if key in body}
    settings = {"lm": body["lm"]} if "lm" in body else {}
    over = fed[0].target.removeprefix(f"{node}.")
    outer.nodes[node] = {"strategy": "map", "config": {"module": module, "over": over}, **settings}
    outer.places[node] = here()
    for edge in inner.edges:
        source = outer.selection(link) if edge is fed[0] else edge.source
        outer.edges.append(Edge(source, edge.target, edge.place))
    bound = [item.within(f"{node}.module") for item in inner.bound]
    if paths := dspy_paths(node, bound):
        outer.nodes[node]["dspy_paths"] = paths
    outer.bound += bound
    return node


def _result(result: Any, node: str) -> Any:
    """The predictions of the node, or one field of all of them."""
    if isinstance(result, dspy.Prediction):
        return Predictions(node, {key: link_of(value).annotation for key, value in result.items()})
    return _field(result, node, node)


def _field(result: Any, source: str, node: str) -> Value:
    link = link_of(result) if isinstance(result, Value) else None
    if link is None or link.path or not isinstance(link.source, str) or not link.source.startswith(f"{source}."):
        refuse("returns something else from a comprehension than a field of the prediction", op("map"))
    kind: Any = link.annotation
    return Value(Link(f"{node}.{link.source.removeprefix(f'{source}.')}", "", list[kind]))
