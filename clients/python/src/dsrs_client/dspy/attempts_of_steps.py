"""`dspy.BestOfN` and `dspy.Refine` over a program, or a reward, of several steps: attempts of a `subgraph`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dspy

from .annotation import schema_of
from .attempts import kinds_of, settings_of
from .container import collected
from .contents import holds_value
from .draft import Edge
from .judged_reward import is_expressible, reward_of
from .leaf import leaf_of
from .link import Link
from .options import Options
from .part import Part, traced_part
from .place import here
from .record import dspy_paths, node_name
from .structure import constant, type_of
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer

STRATEGIES = {dspy.BestOfN.forward: "best_of_n", dspy.Refine.forward: "refine"}


def makes_attempts_of_steps(module: Any, function: Any, options: Options) -> bool:
    """Whether a module makes attempts of code of the program, or is rewarded by it."""
    if function not in STRATEGIES:
        return False
    leaf = leaf_of(module.module, options)
    return leaf is None or not is_expressible(module, options, kinds_of(leaf))


def attempts_of_steps(tracer: Tracer, module: Any, arguments: dict[str, Any]) -> Any:
    """The node; an attempt is a call of the inner program."""
    kinds = {name: type_of(value) for name, value in arguments.items()}
    outer = tracer.draft
    inner = traced_part(tracer, kinds, lambda values: tracer.called(module.module, **values))
    part = Part(inner, kinds)
    outputs = {name: part.kind(name) for name in inner.outputs}
    reward = reward_of(tracer, module, kinds, outputs)
    config = settings_of(module, part.strategy, reward.config)
    node = outer.free_name(node_name(tracer.name_of(module), module))
    fields = {"inputs": kinds, "outputs": outputs}
    signature: dict[str, Any] = {
        side: [{"name": name, "type": schema_of(kind)} for name, kind in found.items()]
        for side, found in fields.items()
    }
    body = {"strategy": STRATEGIES[type(module).forward], "signature": signature, "config": config}
    bound = [replace(item, path=f"{node}.module.{item.path}", node=node) for item in inner.bound]
    judges = [replace(item, path=f"{node}.{item.path}", node=node) for item in reward.bound]
    if paths := dspy_paths(node, bound + [item for item in judges if tracer.has(item.predictor)]):
        body["dspy_paths"] = paths
    outer.nodes[node], outer.places[node] = body, here()
    outer.bound += bound + judges
    for note in [*inner.notes, *reward.notes]:
        outer.note(note)
    for name, value in arguments.items():
        outer.edges.append(Edge(outer.selection(_link(value)), f"{node}.{name}", here()))
    outer.kinds |= {f"{node}.{name}": kind for name, kind in outputs.items()}
    return dspy.Prediction(**{name: Value(Link(f"{node}.{name}", "", kind)) for name, kind in outputs.items()})


def _link(value: Any) -> Link:
    if isinstance(value, Value):
        return link_of(value)
    return collected(value) if holds_value(value) else constant(value)
