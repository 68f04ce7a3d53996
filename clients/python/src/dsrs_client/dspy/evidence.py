"""Decision outputs of DSPy (`Noul`, `Choice`, `Score`) as those of a `decide` node: criteria, rules and evidence."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args

import dspy

from . import signature as signatures
from .refusal import op, refuse


class Nothing:
    """In place of the kinds of decisions, where DSPy has none."""


def _of_dspy() -> tuple[Any, ...]:
    try:
        from dspy.adapters.decision_state import DecisionState
        from dspy.adapters.types.decision import Choice, Noul, Score, decision_type
    except ImportError:  # before 3.4
        return None, None, Nothing, Nothing, Nothing
    return DecisionState, decision_type, Noul, Choice, Score


DecisionState, decision_type, Noul, Choice, Score = _of_dspy()
#: the rule of each kind, by its name on both sides
RULES = ("threshold", "weights", "cuts")


def decided(predictor: Any) -> dict[str, Any]:
    """The types of the outputs that DSPy decides by probabilities, by name."""
    if DecisionState is None:
        return {}
    fields = getattr(predictor, "fields", None) or {}
    found = {name: decision_type(info) for name, info in predictor.signature.output_fields.items()}
    infos = predictor.signature.output_fields
    return {name: kind for name, kind in found.items() if kind and (name in fields or is_declared(infos[name]))}


def is_declared(info: Any) -> bool:
    """Whether the type of a field says that it is decided."""
    return any(isinstance(each, type) and issubclass(each, (Noul, Choice, Score)) for each in types_of(info))


def types_of(info: Any) -> tuple[Any, ...]:
    """The type of a field and what is beside it."""
    return (info.annotation, *info.metadata)


def value_type(name: str, kind: Any) -> Any:
    """The type of the decision in a graph: a score is the number of its level."""
    if issubclass(kind, (Noul, Score)):
        return bool if issubclass(kind, Noul) else int
    values = get_args(kind.model_fields["value"].annotation)
    odd = [value for value in values if value is None or isinstance(value, bool)]
    if odd:
        refuse(f"decides `{name}` between options one of which is `{odd[0]}`", f"Name it by a text. {op('branch')}")
    return Literal[values]


def signature_of(predictor: Any) -> Any:
    """The signature of the node: with the decisions themselves in place of DSPy's objects."""
    signature = predictor.signature
    for name, kind in decided(predictor).items():
        place = list(signature.output_fields).index(name)
        text = description(predictor, name)
        field = dspy.OutputField(desc=text) if text else dspy.OutputField()
        signature = signature.delete(name).insert(place, name, field, value_type(name, kind))
    return signature


def description(predictor: Any, name: str) -> str | None:
    """What the model is asked: the description of the field, unless the predictor has instructions for it."""
    fields = getattr(predictor, "fields", None) or {}
    own = fields.get(name, {}).get("instructions")
    return signatures.description(name, predictor.signature.fields[name]) if own is None else _text(own)


def config_of(predictor: Any) -> dict[str, Any]:
    """The config of the node."""
    known = decided(predictor)
    state = DecisionState(predictor.signature, {**{name: {} for name in known}, **predictor.fields})
    criteria = {name: _criteria(state.get_criteria(name)) for name in known}
    return {"decisions": list(known), "criteria": {name: given for name, given in criteria.items() if given}}


def _criteria(given: Any) -> Any:
    """Descriptions are texts: what else DSPy accepts is written as JSON, as it is in DSPy's prompt."""
    if isinstance(given, list):
        return [_text(each) for each in given]
    return {label: _text(each) for label, each in (given or {}).items() if each is not None}


def _text(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def rules_of(predictor: Any) -> dict[str, Any]:
    """The rules of the state, by output; those that are DSPy's defaults are left out."""
    known = decided(predictor)
    if not known:
        return {}
    own = DecisionState(predictor.signature, {**{name: {} for name in known}, **predictor.fields}).fields
    usual = DecisionState(predictor.signature, {name: {} for name in known}).fields
    found: dict[str, Any] = {}
    for name in known:
        rule = {key: _rule(own[name][key]) for key in RULES if key in own[name] and own[name][key] != usual[name][key]}
        found |= {name: rule} if rule and rule != {"weights": {}} else {}
    return found


def _rule(given: Any) -> Any:
    return {label: weight for label, weight in given.items() if weight != 1} if isinstance(given, dict) else given


def apply_rules(predictor: Any, rules: dict[str, Any]) -> None:
    """Gives the predictor the rules of a state; a decision without one has DSPy's default."""
    known = decided(predictor)
    fields = {}
    for name, entry in {**{name: {} for name in known}, **(getattr(predictor, "fields", None) or {})}.items():
        was_there = name in predictor.fields
        rest = {key: value for key, value in entry.items() if key not in RULES} | rules.get(name, {})
        # An entry makes a plain `bool` or `Literal` a decision.
        if rest or was_there:
            fields[name] = rest
    if known:
        predictor.fields = fields


def name_of(name: str, kind: Any) -> str:
    """The output of the node's predictor that has the evidence."""
    return f"{name}_probability" if issubclass(kind, Noul) else f"{name}_probabilities"


def outputs_of(predictor: Any) -> dict[str, str]:
    """What the outputs of DSPy's predictor are called in that of the node."""
    known = decided(predictor)
    return {name: name_of(name, known[name]) if name in known else name for name in predictor.signature.output_fields}


def of_demo(value: Any, kind: Any) -> Any:
    """The evidence in the value of a demo; none where the demo has the answer alone."""
    held = value.model_dump() if hasattr(value, "model_dump") else value
    if not isinstance(held, dict):
        return None
    if issubclass(kind, Noul):
        return held.get("noul", held.get("probability"))
    found = held.get("probabilities")
    return {str(label): each for label, each in found.items()} if isinstance(found, dict) else None


def to_demo(name: str, value: Any) -> tuple[str, Any]:
    """The evidence of a demo as DSPy shows it, with the name of its output."""
    if name.endswith("_probability"):
        return name.removesuffix("_probability"), {"noul": value}
    return name.removesuffix("_probabilities"), {"probabilities": value}
