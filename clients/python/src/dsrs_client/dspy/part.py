"""Code of a program as a `subgraph` whose inputs have names of their own: an attempt, or a reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .draft import Draft
from .link import Link
from .outputs import declare_outputs
from .refusal import op, refuse
from .subgraph import InputNames, Subgraph
from .value import Value
from .ways import Ways

if TYPE_CHECKING:
    from .trace import Tracer

#: how the inputs begin while the part is traced
SCOPE = "attempt"


class Part:
    """The strategy of a traced part."""

    def __init__(self, inner: Draft, kinds: dict[str, Any]) -> None:
        names = InputNames()
        self._part = Subgraph(inner, inner.nodes, inner.edges, inner.outputs, names)
        self._outputs = inner.outputs
        taken = {name: self._part.take(f"{SCOPE}.{name}") for name in kinds}
        strategy = self._part.strategy()
        if others := set(names.sources) - {f"{SCOPE}.{name}" for name in kinds}:
            refuse(f"makes attempts of a program that uses `{min(others)}` without an argument", op("subgraph"))
        #: the inputs, by the names of the arguments
        self.inputs = list(taken)
        self.strategy = _renamed(strategy, taken)

    def kind(self, output: str) -> Any:
        """The type of an output."""
        return self._part.kind(self._outputs[output])


def traced_part(tracer: Tracer, kinds: dict[str, Any], call: Callable[[dict[str, Value]], Any]) -> Draft:
    """One call of code of the program with values of these types; what it returns are the outputs."""
    outer = tracer.draft

    def once(_: bool) -> Draft:
        inner = Draft(inputs=outer.inputs, taken={SCOPE})
        inner.kinds = {f"{SCOPE}.{name}": kind for name, kind in kinds.items()}
        tracer.draft = inner
        try:
            values = {name: Value(Link(f"{SCOPE}.{name}", "", kind)) for name, kind in kinds.items()}
            declare_outputs(inner, call(values), None)
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
