"""The graph while it is drawn: nodes, edges, inputs, and which predictor became which path."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .annotation import Unknown, schema_of
from .link import CALL, PENDING, Link, Operation
from .note import Note, add_note
from .place import Place, here
from .refusal import refuse


@dataclass(frozen=True)
class Edge:
    """A connection, and the line of the program that makes it."""

    source: str
    target: str
    place: Place | None


@dataclass(frozen=True)
class Bound:
    """A predictor of the program and the path that it has in the graph."""

    name: str
    path: str
    node: str
    predictor: Any
    #: the instruction that DSPy generated, where the graph writes its own
    generated: str | None = None
    #: the inputs that have a default in the graph; a demo may lack them
    defaults: frozenset[str] = frozenset()

    def within(self, node: str) -> Bound:
        """The same predictor where its node is the module of another one."""
        return replace(self, path=f"{node}{self.path.removeprefix(self.node)}")


@dataclass(frozen=True)
class Decision:
    """A test by which the program decides, and what was drawn before it."""

    expression: str
    #: the sources of the values in it, by name
    inputs: list[tuple[str, str]]
    nodes: int
    edges: int
    place: Place | None = field(default_factory=here)


@dataclass
class Draft:
    """A definition that grows."""

    inputs: dict[str, Any] = field(default_factory=dict)
    #: inputs that say more than their type: those of a lone module, with descriptions and defaults
    declared: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    bound: list[Bound] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    places: dict[str, Place | None] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    #: the Python types of sources
    kinds: dict[str, Any] = field(default_factory=dict)
    #: names of nodes that other parts of the graph have
    taken: set[str] = field(default_factory=set)
    _written: dict[int, str] = field(default_factory=dict)

    def note(self, text: str, way_out: str | None = None) -> None:
        """Adds a note, once. One that changes a meaning has a way out."""
        add_note(self.notes, text if isinstance(text, Note) else Note(text, way_out))

    def free_name(self, wanted: str) -> str:
        """The name, with a number where it is taken."""
        name, number = wanted, 2
        while name in self.nodes or name in self.taken or name in ("input", "element"):
            name, number = f"{wanted}_{number}", number + 1
        return name

    def connect(self, link: Link, target: str, place: Place | None) -> None:
        """Feeds an input of a node."""
        self.edges.append(Edge(self.selection(link), target, place))

    def selection(self, link: Link) -> str:
        """The link as an edge writes it; its op becomes a node the first time."""
        if link.call != CALL.get():
            refuse(f"uses {link.label} of an earlier call")
        source = link.source
        if isinstance(source, Operation):
            source = f"{self._write(source)}.{source.output}"
        selected = f"{source}{link.path}"
        self.kinds.setdefault(selected, link.annotation)
        return selected

    def write_pending(self) -> None:
        """Writes the ops that may raise an exception: Python raises it where they are made, used or not."""
        pending = PENDING.get()
        while pending:
            self._write(pending.pop(0))

    def settle_input(self, link: Link, annotation: Any) -> None:
        """Gives an input of the graph the type of the first field that it feeds."""
        if link.annotation is Unknown and isinstance(link.source, str) and not link.path:
            name = link.source.removeprefix("input.")
            if link.source.startswith("input.") and self.inputs.get(name) is Unknown:
                self.inputs[name] = annotation

    def type_of(self, link: Link) -> Any:
        """The type of a value; for an input, the one that it got meanwhile."""
        if link.annotation is Unknown and isinstance(link.source, str) and link.source.startswith("input."):
            return self.inputs.get(link.source.removeprefix("input."), Unknown)
        return link.annotation

    def definition(self, name: str, description: str | None) -> dict[str, Any]:
        """The definition as it is posted."""
        body: dict[str, Any] = {"name": name}
        if description:
            body["description"] = description
        body["inputs"] = {key: self.declared.get(key) or schema_of(kind) for key, kind in self.inputs.items()}
        body["nodes"] = self.nodes
        body["edges"] = [{"from": edge.source, "to": edge.target} for edge in self.edges]
        body["outputs"] = self.outputs
        return body

    def _write(self, operation: Operation) -> str:
        if (known := self._written.get(id(operation))) is not None:
            return known
        self._retained.append(operation)
        sources = [(name, self.selection(link)) for name, link in operation.inputs]
        name = self.free_name(operation.strategy)
        self._written[id(operation)] = name
        self.nodes[name] = {"strategy": operation.strategy, "config": operation.config}
        self.kinds[f"{name}.{operation.output}"] = operation.annotation
        self.places[name] = operation.place
        self.edges += [Edge(source, f"{name}.{field}", operation.place) for field, source in sources]
        return name

    #: operations that are written, held so that an id names one of them only
    _retained: list[Operation] = field(default_factory=list)
