"""Records the call of a module as a node: its signature, what feeds its inputs, and the values that it returns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import dspy

from . import signature as signatures
from .annotation import Unknown, is_optional, schema_of
from .container import collected
from .contents import holds_value
from .decided import Decided
from .draft import Bound, Draft
from .json_value import to_json
from .leaf import Leaf, of_program
from .link import Link, Operation
from .place import here
from .predicted import holds_predictions
from .refusal import op, refuse
from .text_objects import plain_type, value_of
from .value import Value, link_of


def record(
    draft: Draft,
    name: str,
    attribute: str,
    leaf: Leaf,
    arguments: dict[str, Any],
    lm: dict[str, Any],
    predictors: Mapping[int, str] | None = None,
) -> Any:
    """Adds the node and returns the prediction with its symbolic outputs. ``predictors`` are DSPy's names by id."""
    node = draft.free_name(name)
    place = here()
    feeds: list[tuple[str, Link]] = []
    fields = [_input(draft, key, info, arguments, feeds) for key, info in signatures.inputs(leaf.signature).items()]
    body: dict[str, Any] = {"strategy": leaf.strategy}
    if leaf.declares:
        outputs = [signatures.field(key, info) for key, info in signatures.outputs(leaf.signature).items()]
        body["signature"] = {"instructions": leaf.signature.instructions, "inputs": fields, "outputs": outputs}
    elif constants := [field["name"] for field in fields if "default" in field]:
        refuse(f"gives `{name}`, a stored graph, a constant as `{constants[0]}`", op("render"))
    if leaf.config:
        body["config"] = leaf.config
    if lm:
        body["lm"] = lm
    defaults = frozenset(field["name"] for field in fields if "default" in field)
    bound = _bound(node, attribute, leaf, defaults, predictors or {})
    if attribute and (paths := dspy_paths(node, bound)):
        body["dspy_paths"] = paths
    draft.bound += bound
    draft.nodes[node], draft.places[node] = body, place
    for key, link in feeds:
        draft.connect(link, f"{node}.{key}", place)
    kinds = {key: plain_type(kind) for key, kind in leaf.outputs.items()}
    draft.kinds |= {f"{node}.{key}": kind for key, kind in kinds.items()}
    links = {key: Link(f"{node}.{key}", "", kind) for key, kind in kinds.items()}
    values: dict[str, Any] = {key: value_of(link, leaf.outputs[key]) for key, link in links.items()}
    return dspy.Prediction(**{**values, **{key: Decided(node, key, kind) for key, kind in leaf.objects.items()}})


def node_name(attribute: str, module: Any) -> str:
    """The name of a node: the attribute, or the kind of a module that is the whole program."""
    text = attribute or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(module).__name__).lower()
    return re.sub(r"_+", "_", re.sub(r"\W", "_", text)).strip("_")[:60]


def _input(
    draft: Draft, name: str, info: Any, arguments: dict[str, Any], feeds: list[tuple[str, Link]]
) -> dict[str, Any]:
    """The field, fed by a value of the run, or with a constant as its default."""
    if name not in arguments:
        return _left_out(name, info)
    given = arguments[name]
    if isinstance(given, Decided):
        refuse(f"gives a predictor a decision as `{name}`", "Give it its `.value`.")
    if not holds_value(given):
        kind = _type_of_constant(given) if signatures.is_untyped(info) else None
        return {**signatures.field(name, info, kind), "default": to_json(given)}
    link = link_of(given) if isinstance(given, Value) else collected(given)
    if holds_predictions(link.annotation):
        refuse(f"gives a predictor predictions as `{name}`", "Give it their fields.")
    feeds.append((name, link))
    kind = draft.type_of(link)
    if signatures.is_untyped(info) and kind is not Unknown:
        return signatures.field(name, info, kind)
    if not signatures.is_untyped(info):
        declared = plain_type(info.annotation)
        draft.settle_input(link, declared)
        feeds[-1] = (name, _fitting(link, declared))
    return signatures.field(name, info)


def _fitting(link: Link, annotation: Any) -> Link:
    """A value of any type as one of a field with a type; one that is none fails the node."""
    if link.annotation is not Any or annotation is Any:
        return link
    return Operation("coerce", {"type": schema_of(annotation), "strict": True}, [("value", link)], "value").link(
        annotation
    )


def _type_of_constant(value: Any) -> Any:
    """The type of a constant in a field without a type."""
    if isinstance(value, (list, tuple)):
        return list[str] if all(isinstance(item, str) for item in value) else list[Any]
    return type(value) if isinstance(value, (bool, int, float)) else None


def _left_out(name: str, info: Any) -> dict[str, Any]:
    field = signatures.field(name, info)
    if "default" in field:
        return field
    if is_optional(info.annotation):
        refuse(
            f"calls a predictor without its input `{name}`: DSPy leaves it out of the prompt", f"Pass `{name}=None`."
        )
    refuse(f"calls a predictor without its input `{name}`")


def dspy_paths(node: str, bound: list[Bound]) -> dict[str, str]:
    """The paths of predictors in DSPy's files, by their paths within the node, where they differ."""
    differing = [item for item in bound if item.generated is None and item.name != item.path]
    return {item.path.removeprefix(node).removeprefix("."): item.name for item in differing}


def _bound(
    node: str, attribute: str, leaf: Leaf, defaults: frozenset[str], predictors: Mapping[int, str]
) -> list[Bound]:
    bound = []
    for inner in leaf.inner:
        name = ".".join(part for part in (attribute, inner.attribute) if part)
        name = predictors.get(id(of_program(inner.predictor)), name)
        path = ".".join(part for part in (node, inner.path) if part)
        bound.append(Bound(name or "self", path, node, inner.predictor, inner.generated, defaults))
    return bound
