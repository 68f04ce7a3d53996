"""The predictors of a stored graph as predictors of DSPy, with the types of a signature where one is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from .signature import is_untyped
from .state import apply_state
from .type_text import python_type

#: types by the node and the field
NodeTypes = Mapping[tuple[str, str], Any]


def predictor_of(item: dict[str, Any], types: dict[str, Any], given: NodeTypes) -> Any:
    """One predictor with its state."""
    fields: dict[str, Any] = {}
    for side, make in (("inputs", dspy.InputField), ("outputs", dspy.OutputField)):
        for field in item["schema"][side]:
            text = {"desc": field["description"]} if field.get("description") else {}
            kind = given.get((item["node"], field["name"])) or python_type(field["type"], types)
            fields[field["name"]] = (kind, make(**text))
    predictor = dspy.Predict(dspy.Signature(fields, item["effective_instruction"]))
    apply_state(predictor, item)
    return predictor


def defaults_of(item: dict[str, Any]) -> frozenset[str]:
    """The inputs of a predictor that a demo may lack."""
    return frozenset(field["name"] for field in item["schema"]["inputs"] if "default" in field)


def inputs_of_graph(graph: dict[str, Any]) -> dict[str, Any]:
    """The types of the inputs."""
    return {name: python_type(_text(field), graph["types"]) for name, field in graph["inputs"].items()}


def outputs_of_graph(graph: dict[str, Any], predictors: list[dict[str, Any]]) -> dict[str, Any]:
    """The types of the outputs, where a signature says them."""
    return {name: _output(graph, predictors, source) for name, source in graph["outputs"].items()}


def node_types(graph: dict[str, Any], signature: Any) -> dict[tuple[str, str], Any]:
    """The types of a signature of the graph at the nodes that its inputs feed and its outputs come from."""
    if signature is None:
        return {}
    infos = {**signature.input_fields, **signature.output_fields}
    kinds = {name: info.annotation for name, info in infos.items() if not is_untyped(info)}
    found = [(edge["from"].removeprefix("input."), edge["to"]) for edge in graph["edges"] if _is_input(edge["from"])]
    found += list(graph["outputs"].items())
    places = [(name, tuple(place.split("."))) for name, place in found if name in kinds]
    return {place: kinds[name] for name, place in places if len(place) == 2 and "[" not in place[1]}


def _is_input(source: str) -> bool:
    return source.startswith("input.")


def _output(graph: dict[str, Any], predictors: list[dict[str, Any]], source: str) -> Any:
    node, _, name = source.partition(".")
    signature = graph["nodes"].get(node, {}).get("signature") or {"outputs": []}
    fields = [field for field in signature["outputs"] if field["name"] == name]
    for item in predictors:
        fields += [field for field in item["schema"]["outputs"] if item["node"] == node and field["name"] == name]
    return python_type(_text(fields[0]), graph["types"]) if fields else Any


def _text(field: Any) -> str:
    return str(field["type"] if isinstance(field, dict) else field)
