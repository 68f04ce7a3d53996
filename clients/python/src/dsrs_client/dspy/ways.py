"""All ways through the decisions of a program as one graph.

Each decision is a `branch` node, whose arms are what the program does afterwards on that way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .annotation import Unknown, schema_of
from .decision import DECIDE, OTHER, VALUE, Test
from .draft import Decision, Draft, Edge
from .place import Place, here
from .record import dspy_paths
from .refusal import Fork, op, refuse

#: decisions one after another: a server nests subgraphs so deep
DEPTH = 8
#: ways in all
MOST = 32


class Ways:
    """Takes every way through a program."""

    def __init__(self, trace: Callable[[bool], Draft], current: Callable[[], Draft]) -> None:
        #: traces the program once; whether it was traced before
        self.trace = trace
        #: the draft into which the trace writes now
        self.current = current
        self.taken = 0
        self.place: Place | None = None

    def all(self) -> Draft:
        """The graph of all ways."""
        return self._after([])

    def _after(self, known: list[bool]) -> Draft:
        found = self._one(known)
        if found is not None:
            self.taken += 1
            return found
        if len(known) == DEPTH or self.taken > MOST:
            ways = f"{DEPTH} times in a row by values of a run, or has more than {MOST} ways"
            refuse(f"decides more than {ways}", op("loop"), self.place)
        then, otherwise = self._after([*known, True]), self._after([*known, False])
        return _joined(then, otherwise, len(known))

    def _one(self, known: list[bool]) -> Draft | None:
        """One trace with these decisions; none if there is one more."""
        made: list[Draft] = []
        forks: list[Fork] = []

        def way(test: Test) -> bool:
            draft = self.current()
            if made and draft is not made[0]:
                refuse("decides by a value of the run within a comprehension", op("map"))
            made[:] = [draft]
            if len(draft.decisions) == len(known):
                self.place = here()
                forks.append(Fork())
                raise forks[-1]
            inputs = [(name, draft.selection(link)) for name, link in test.inputs]
            draft.decisions.append(Decision(test.expression, inputs, len(draft.nodes), len(draft.edges)))
            return known[len(draft.decisions) - 1]

        token = DECIDE.set(way)
        try:
            draft = self.trace(bool(known))
        except Fork:
            return None
        finally:
            DECIDE.reset(token)
        return None if forks else draft


def _joined(then: Draft, otherwise: Draft, position: int) -> Draft:
    """The graph of both ways of a decision."""
    decision = then.decisions[position]
    if list(then.nodes.items())[: decision.nodes] != list(otherwise.nodes.items())[: decision.nodes]:
        refuse("does other things before a decision when it is called again", "Make it an input of `forward`.")
    prefix = dict(list(then.nodes.items())[: decision.nodes])
    joined = replace(
        then,
        nodes=prefix,
        edges=then.edges[: decision.edges],
        decisions=then.decisions[:position],
        bound=[item for item in then.bound if item.node in prefix],
        inputs={name: _settled(kind, otherwise.inputs.get(name)) for name, kind in then.inputs.items()},
    )
    for note in otherwise.notes:
        joined.note(note)
    names = [name for name in then.outputs if name in otherwise.outputs]
    if not names:
        refuse("returns other members on each way of a decision", op("branch"))
    for name in sorted({*then.outputs, *otherwise.outputs} - {*names}):
        joined.note(f"`{name}` is returned on one way of a decision only, and is no output")
    node = joined.free_name("branch")
    arms = [_Arm(way, decision, joined, names) for way in (then, otherwise)]
    config = {"if": decision.expression, "then": arms[0].strategy(), "else": arms[1].strategy()}
    joined.nodes[node] = {"strategy": "branch", "config": config}
    joined.places[node] = None
    _feed(joined, node, decision, arms)
    for side, way in (("then", then), ("else", otherwise)):
        inner = [item for item in way.bound if item.node not in prefix]
        joined.bound += [replace(item, path=f"{node}.{side}.{item.path}", node=node) for item in inner]
    if paths := dspy_paths(node, [item for item in joined.bound if item.node == node]):
        joined.nodes[node]["dspy_paths"] = paths
    joined.outputs = {name: f"{node}.{name}" for name in names}
    joined.kinds |= {f"{node}.{name}": then.kinds.get(then.outputs[name], Unknown) for name in names}
    return joined


def _settled(one: Any, other: Any) -> Any:
    return other if one is Unknown and other is not None else one


def _feed(joined: Draft, node: str, decision: Decision, arms: list[_Arm]) -> None:
    """Connects what the condition and the arms use."""
    place = decision.place
    joined.edges += [Edge(source, f"{node}.{name}", place) for name, source in decision.inputs]
    fed = {source: name for arm in arms for source, name in arm.taken.items()}
    joined.edges += [Edge(source, f"{node}.{name}", place) for source, name in fed.items()]


class _Arm:
    """What a program does on one way after a decision, as a subgraph."""

    def __init__(self, way: Draft, decision: Decision, joined: Draft, outputs: list[str]) -> None:
        self.way, self.joined = way, joined
        self.nodes = dict(list(way.nodes.items())[decision.nodes :])
        self.edges = way.edges[decision.edges :]
        #: the fields outside that it uses, with the names of its inputs
        self.taken: dict[str, str] = {}
        self.outputs = {name: way.outputs[name] for name in outputs}

    def strategy(self) -> dict[str, Any]:
        """The subgraph."""
        edges = [{"from": self._inside(edge.source), "to": edge.target} for edge in self.edges]
        nodes = {name: {key: body[key] for key in body if key != "dspy_paths"} for name, body in self.nodes.items()}
        outputs = {}
        for name, source in self.outputs.items():
            if self._is_own(source):
                outputs[name] = source
                continue
            passed = _free("returned", nodes)
            kind = self._kind(source)
            nodes[passed] = {"strategy": "coerce", "config": {"type": schema_of(kind)}}
            edges.append({"from": self._inside(source), "to": f"{passed}.value"})
            outputs[name] = f"{passed}.value"
        inputs = {name: schema_of(self._kind(source)) for source, name in self.taken.items()}
        config = {"inputs": inputs, "nodes": nodes, "edges": edges, "outputs": outputs}
        return {"strategy": "subgraph", "config": config}

    def _is_own(self, source: str) -> bool:
        return _root(source).split(".")[0] in self.nodes

    def _inside(self, source: str) -> str:
        """A source as the subgraph names it."""
        if self._is_own(source):
            return source
        root = _root(source)
        wanted = re.sub(r"\W", "_", root.removeprefix("input."))
        name = self.taken.setdefault(root, f"{wanted}_" if wanted in (VALUE, OTHER) else wanted)
        return f"input.{name}{source.removeprefix(root)}"

    def _kind(self, source: str) -> Any:
        root = _root(source)
        name = root.removeprefix("input.")
        kind = self.way.inputs.get(name, Unknown) if root.startswith("input.") else self.way.kinds.get(root, Unknown)
        if source != root and (part := self.way.kinds.get(source)) is not None:
            return part
        if kind is Unknown:
            refuse(f"uses `{source}`, whose type is not known, after a decision", op("coerce"))
        return kind


def _root(source: str) -> str:
    """The field of a node that a source selects from."""
    found = re.match(r"[^.\[]+\.[^.\[]+", source)
    return found.group() if found else source


def _free(wanted: str, taken: dict[str, Any]) -> str:
    return next(name for name in _numbered(wanted) if name not in taken)


def _numbered(wanted: str) -> Iterator[str]:
    yield wanted
    number = 2
    while True:
        yield f"{wanted}_{number}"
        number += 1
