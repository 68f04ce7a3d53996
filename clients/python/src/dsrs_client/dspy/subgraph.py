"""A part of a draft as a `subgraph`: what it takes from outside are its inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .annotation import Unknown, schema_of
from .draft import Draft, Edge
from .refusal import refuse


class InputNames:
    """The names that several subgraphs of one node give to what they take from outside."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        #: the fields outside, with their names inside
        self.sources: dict[str, str] = {}
        self.taken = set(taken)

    def name(self, root: str) -> str:
        """The name of a field outside."""
        if root not in self.sources:
            wanted = re.sub(r"\W", "_", root.removeprefix("input."))
            self.sources[root] = next(name for name in _numbered(wanted) if name not in self.taken)
            self.taken.add(self.sources[root])
        return self.sources[root]


class Subgraph:
    """Nodes and edges of a draft, and which of its sources are outputs."""

    def __init__(
        self, draft: Draft, nodes: dict[str, Any], edges: list[Edge], outputs: dict[str, str], names: InputNames
    ) -> None:
        self.draft, self.nodes, self.edges, self.outputs, self.names = draft, nodes, edges, outputs, names
        #: the fields outside that this one takes
        self.used: dict[str, str] = {}

    def strategy(self) -> dict[str, Any]:
        """The strategy and its config."""
        for name, body in self.nodes.items():
            if waits_for_caller(body):
                way_out = "Call it before, or name its functions in `tools=`."
                refuse(f"waits for the caller by `{name}` in a part of the graph", way_out, self.draft.places.get(name))
        edges = [{"from": self._inside(edge.source), "to": edge.target} for edge in self.edges]
        nodes = {name: {key: body[key] for key in body if key != "dspy_paths"} for name, body in self.nodes.items()}
        outputs = {}
        for name, source in self.outputs.items():
            if self._is_own(source):
                outputs[name] = source
                continue
            passed = free_name("returned", nodes)
            kind = self.kind(source)
            nodes[passed] = {"strategy": "coerce", "config": {"type": schema_of(kind)}}
            edges.append({"from": self._inside(source), "to": f"{passed}.value"})
            outputs[name] = f"{passed}.value"
        inputs = {name: schema_of(self.kind(source)) for source, name in self.used.items()}
        return {
            "strategy": "subgraph",
            "config": {"inputs": inputs, "nodes": nodes, "edges": edges, "outputs": outputs},
        }

    def take(self, source: str) -> str:
        """The name of an input, also of one that nothing in the part uses."""
        self.used[source] = self.names.name(source)
        return self.used[source]

    def kind(self, source: str) -> Any:
        """The type of a source."""
        root = root_of(source)
        name = root.removeprefix("input.")
        kinds = self.draft.kinds
        kind = self.draft.inputs.get(name, Unknown) if root.startswith("input.") else kinds.get(root, Unknown)
        if source != root and (part := kinds.get(source)) is not None:
            return part
        return str if kind is Unknown else kind

    def _is_own(self, source: str) -> bool:
        return root_of(source).split(".")[0] in self.nodes

    def _inside(self, source: str) -> str:
        """A source as the subgraph names it."""
        if self._is_own(source):
            return source
        root = root_of(source)
        return f"input.{self.take(root)}{source.removeprefix(root)}"


def waits_for_caller(node: dict[str, Any]) -> bool:
    """Whether a node waits for the caller of the run."""
    tools = (node.get("config") or {}).get("tools") or []
    return bool(node["strategy"] == "await" or any(isinstance(tool, dict) and "caller" in tool for tool in tools))


def root_of(source: str) -> str:
    """The field of a node that a source selects from."""
    found = re.match(r"[^.\[]+\.[^.\[]+", source)
    return found.group() if found else source


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """A name that is not taken, with a number if need be."""
    return next(name for name in _numbered(wanted) if name not in taken)


def _numbered(wanted: str) -> Iterator[str]:
    yield wanted
    number = 2
    while True:
        yield f"{wanted}_{number}"
        number += 1
