"""The nodes of a loop over a list of the run: `map`, or `loop` with what each round takes from the one before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .annotation import list_of
from .computed import computed
from .draft import Draft, Edge
from .link import Link
from .place import here
from .record import dspy_paths
from .subgraph import InputNames, Subgraph

#: the most rounds of a `loop` on the server
MOST = 100


@dataclass(frozen=True)
class Drawn:
    """The node of a loop."""

    node: str

    def link(self, name: str, kind: Any) -> Link:
        """An output."""
        return Link(f"{self.node}.{name}", "", kind)

    def results(self, name: str, kind: Any, is_flat: bool) -> Link:
        """What all rounds appended to one list; a round that appends several values, or none, has a list of them."""
        if not is_flat:
            return self.link(name, list_of(kind))
        return computed("value|sum(start=[])", self.link(name, list_of(list_of(kind))), list_of(kind))


def draw_map(outer: Draft, inner: Draft, scope: str, values: Link) -> Drawn:
    """A loop whose rounds are independent."""
    names = InputNames()
    part = Subgraph(inner, inner.nodes, inner.edges, inner.outputs, names)
    element = part.take(f"{scope}.element")
    node = outer.free_name("map")
    config = {"module": part.strategy(), "over": element}
    _add(outer, inner, node, {"strategy": "map", "config": config}, f"{node}.module")
    _feed(outer, node, names, {f"{scope}.element": outer.selection(values)})
    return Drawn(node)


def draw_loop(
    outer: Draft, inner: Draft, scope: str, values: Link, initial: dict[str, tuple[Link, Any]], ends: bool
) -> Drawn:
    """A loop that carries state from round to round; without elements, the state is what it was."""
    inner.kinds |= {f"{scope}.{name}": kind for name, (_, kind) in initial.items()}
    inner.kinds[f"{scope}.rest"] = values.annotation
    names = InputNames(inner.outputs)
    part = Subgraph(inner, inner.nodes, inner.edges, inner.outputs, names)
    inputs = {name: part.take(f"{scope}.{name}") for name in ("rest", *initial)}
    rest = inputs["rest"]
    until = "next_rest|length == 0" + (" or ends" if ends else "")
    carry = {inputs[name]: f"next_{name}" for name in inputs}
    config = {"module": part.strategy(), "max": MOST, "carry": carry, "until": until, "at_limit": "fail"}
    same = Subgraph(inner, {}, [], {f"next_{name}": f"{scope}.{name}" for name in inputs}, names)
    node = outer.free_name("loop")
    arms = {"then": {"strategy": "loop", "config": config}, "else": same.strategy()}
    body = {"strategy": "branch", "config": {"if": f"{rest}|length > 0", **arms}}
    sources = {f"{scope}.{name}": outer.selection(link) for name, (link, _) in initial.items()}
    sources[f"{scope}.rest"] = outer.selection(values)
    _add(outer, inner, node, body, f"{node}.then.module")
    _feed(outer, node, names, sources)
    return Drawn(node)


def _add(outer: Draft, inner: Draft, node: str, body: dict[str, Any], path: str) -> None:
    """Adds the node, with the predictors in it."""
    bound = [replace(item, path=f"{path}.{item.path}", node=node) for item in inner.bound]
    if paths := dspy_paths(node, bound):
        body["dspy_paths"] = paths
    outer.nodes[node], outer.places[node] = body, here()
    outer.bound += bound
    for note in inner.notes:
        outer.note(note)


def _feed(outer: Draft, node: str, names: InputNames, sources: dict[str, str]) -> None:
    """Connects what the node takes: the loop's own sources, and others as they are."""
    for source, name in names.sources.items():
        outer.edges.append(Edge(sources.get(source, source), f"{node}.{name}", here()))
