"""`dspy.BestOfN` and `dspy.Refine` over a program of several steps: attempts of a `subgraph`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dspy

from .annotation import schema_of
from .attempts import settings_of
from .container import collected
from .contents import holds_value
from .draft import Draft, Edge
from .leaf import leaf_of
from .link import Link
from .options import Options
from .outputs import declare_outputs
from .place import here
from .record import dspy_paths, node_name
from .refusal import op, refuse
from .structure import constant, type_of
from .subgraph import InputNames, Subgraph
from .value import Value, link_of
from .ways import Ways

if TYPE_CHECKING:
    from .trace import Tracer

STRATEGIES = {dspy.BestOfN.forward: "best_of_n", dspy.Refine.forward: "refine"}
#: how the inputs of an attempt begin
SCOPE = "attempt"


def makes_attempts_of_steps(module: Any, function: Any, options: Options) -> bool:
    """Whether a module makes attempts of code of the program."""
    return function in STRATEGIES and leaf_of(module.module, options) is None


def attempts_of_steps(tracer: Tracer, module: Any, arguments: dict[str, Any]) -> Any:
    """The node; an attempt is a call of the inner program."""
    kinds = {name: type_of(value) for name, value in arguments.items()}
    outer = tracer.draft
    inner = _traced(tracer, module.module, kinds)
    names = InputNames()
    part = Subgraph(inner, inner.nodes, inner.edges, inner.outputs, names)
    inputs = {name: part.take(f"{SCOPE}.{name}") for name in kinds}
    strategy = part.strategy()
    outputs = {name: part.kind(source) for name, source in inner.outputs.items()}
    if others := set(names.sources) - {f"{SCOPE}.{name}" for name in kinds}:
        refuse(f"makes attempts of a program that uses `{min(others)}` without an argument", op("subgraph"))
    config = settings_of(module, tracer.options, _renamed(strategy, inputs), {"inputs": kinds, "outputs": outputs})
    node = outer.free_name(node_name(tracer.name_of(module), module))
    fields = {"inputs": kinds, "outputs": outputs}
    signature: dict[str, Any] = {
        side: [{"name": name, "type": schema_of(kind)} for name, kind in found.items()]
        for side, found in fields.items()
    }
    body = {"strategy": STRATEGIES[type(module).forward], "signature": signature, "config": config}
    bound = [replace(item, path=f"{node}.module.{item.path}", node=node) for item in inner.bound]
    if paths := dspy_paths(node, bound):
        body["dspy_paths"] = paths
    outer.nodes[node], outer.places[node] = body, here()
    outer.bound += bound
    for note in inner.notes:
        outer.note(note)
    for name, value in arguments.items():
        outer.edges.append(Edge(outer.selection(_link(value)), f"{node}.{name}", here()))
    outer.kinds |= {f"{node}.{name}": kind for name, kind in outputs.items()}
    return dspy.Prediction(**{name: Value(Link(f"{node}.{name}", "", kind)) for name, kind in outputs.items()})


def _traced(tracer: Tracer, module: Any, kinds: dict[str, Any]) -> Draft:
    """One attempt."""
    outer = tracer.draft

    def once(_: bool) -> Draft:
        inner = Draft(inputs=outer.inputs, taken={SCOPE})
        inner.kinds = {f"{SCOPE}.{name}": kind for name, kind in kinds.items()}
        tracer.draft = inner
        try:
            values = {name: Value(Link(f"{SCOPE}.{name}", "", kind)) for name, kind in kinds.items()}
            declare_outputs(inner, tracer.called(module, **values), None)
            inner.write_pending()
            return inner
        finally:
            tracer.draft = outer

    try:
        return Ways(once, lambda: tracer.draft).all()
    finally:
        tracer.draft = outer


def _renamed(strategy: dict[str, Any], inputs: dict[str, str]) -> dict[str, Any]:
    """The subgraph with the names of the arguments for its inputs."""
    config = strategy["config"]
    by_name = {f"input.{name}": f"input.{argument}" for argument, name in inputs.items()}

    def renamed(source: str) -> str:
        found = [name for name in by_name if source == name or source.startswith((f"{name}.", f"{name}["))]
        return f"{by_name[found[0]]}{source.removeprefix(found[0])}" if found else source

    edges = [{"from": renamed(edge["from"]), "to": edge["to"]} for edge in config["edges"]]
    types = {argument: config["inputs"][name] for argument, name in inputs.items()}
    return {**strategy, "config": {**config, "inputs": types, "edges": edges}}


def _link(value: Any) -> Link:
    if isinstance(value, Value):
        return link_of(value)
    return collected(value) if holds_value(value) else constant(value)
