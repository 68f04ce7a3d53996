"""Instructions and demos of predictors as state of a graph."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from .annotation import is_optional
from .draft import Bound
from .evidence import apply_rules, decided, name_of, of_demo, rules_of, to_demo
from .json_value import to_json
from .note import Note
from .python_names import by_alias
from .text_objects import text_of


def state_of(bound: Iterable[Bound]) -> dict[str, Any]:
    """The body of `PUT …/state`."""
    return {"predictors": {item.path: predictor_state(item) for item in bound}}


def predictor_state(item: Bound) -> dict[str, Any]:
    """The instruction and the demos of one predictor."""
    signature = item.predictor.signature
    state: dict[str, Any] = {"demos": demos_of(item.predictor, item.defaults)}
    if item.generated is None or signature.instructions != item.generated:
        state["instruction"] = signature.instructions
    if rules := rules_of(item.predictor):
        state["decisions"] = rules
    return state


def demos_of(predictor: Any, defaults: frozenset[str]) -> list[dict[str, Any]]:
    """Demos as DSPy shows them, those with all fields last; without those that lack an input that has no default."""
    signature = predictor.signature
    shown = [demo for demo in _shown(predictor) if not _lacks_input(demo, signature, defaults)]
    count = len(signature.fields)
    complete = [demo for demo in shown if len(demo["input"]) + len(demo["output"]) == count]
    return [demo for demo in shown if demo not in complete] + complete


def notes_of(bound: Iterable[Bound]) -> list[Note]:
    """What is left out of the state: demos that a graph refuses, and DSPy shows with a gap."""
    bound = list(bound)
    counts = {item.path: len(_shown(item.predictor)) - len(demos_of(item.predictor, item.defaults)) for item in bound}
    answers = {item.path: _answers_alone(item.predictor) for item in bound}
    texts = [f"{count} demos of `{path}` lack an input and are left out" for path, count in counts.items() if count]
    alone = [f"{count} demos of `{path}` decide without probabilities" for path, count in answers.items() if count]
    return [
        *(Note(text, "Complete the demos, or remove them.") for text in texts),
        *(Note(text, "Give the demos probabilities, or remove them.") for text in alone),
    ]


def _answers_alone(predictor: Any) -> int:
    """How many demos have the answer of a decision, which is left out, and no probabilities."""
    known = decided(predictor)
    given = [[(demo.get(name), kind) for name, kind in known.items()] for demo in predictor.demos]
    return sum(any(value is not None and of_demo(value, kind) is None for value, kind in each) for each in given)


def _shown(predictor: Any) -> list[dict[str, Any]]:
    """The demos that have an input and an output at least."""
    signature = predictor.signature
    demos = [
        {"input": _part(demo, signature.input_fields), "output": _outputs(demo, predictor)} for demo in predictor.demos
    ]
    return [demo for demo in demos if demo["input"] and demo["output"]]


def _lacks_input(demo: dict[str, Any], signature: Any, defaults: frozenset[str]) -> bool:
    missing = set(signature.input_fields) - set(demo["input"]) - defaults
    return any(not is_optional(signature.input_fields[name].annotation) for name in missing)


def _part(demo: Any, fields: dict[str, Any]) -> dict[str, Any]:
    given = [name for name in fields if name in demo and demo[name] is not None]
    return {name: _json(demo[name], fields[name].annotation) for name in given}


def _outputs(demo: Any, predictor: Any) -> dict[str, Any]:
    """The outputs of a demo, with the evidence in place of decisions."""
    known = decided(predictor)
    fields = {name: info for name, info in predictor.signature.output_fields.items() if name not in known}
    plain, stated = _part(demo, fields), {}
    for name, kind in known.items():
        if (found := of_demo(demo.get(name), kind)) is not None:
            stated[name] = (name_of(name, kind), found)
    whole = {name: stated.get(name, (name, plain.get(name))) for name in predictor.signature.output_fields}
    return {key: value for name, (key, value) in whole.items() if name in stated or name in plain}


def _json(value: Any, annotation: Any) -> Any:
    """A value as its field has it, also one of a saved file."""
    if annotation is bytes and isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return to_json(by_alias(text_of(value, annotation), annotation))


def apply_state(predictor: Any, state: dict[str, Any], generated: str | None = None) -> None:
    """Gives a predictor its instruction and demos."""
    instruction = state["effective_instruction"] if generated is None else state.get("instruction") or generated
    predictor.signature = predictor.signature.with_instructions(instruction)
    predictor.demos = [_demo(_stated(demo, predictor), predictor.signature) for demo in state.get("demos", [])]
    apply_rules(predictor, state.get("decisions") or {})


def _stated(demo: dict[str, Any], predictor: Any) -> dict[str, Any]:
    """A demo with the names that DSPy has for evidence."""
    names = {name_of(name, kind) for name, kind in decided(predictor).items()}
    output = dict(to_demo(name, value) if name in names else (name, value) for name, value in demo["output"].items())
    return {**demo, "output": output}


def _demo(demo: dict[str, Any], signature: Any) -> Any:
    values = values_of({**demo["input"], **demo["output"]}, signature)
    return dspy.Example(**values).with_inputs(*(name for name in demo["input"] if name in signature.input_fields))


def values_of(members: Mapping[str, Any], signature: Any) -> dict[str, Any]:
    """JSON values as the fields of a signature declare them."""
    return {name: _value(value, signature.fields.get(name)) for name, value in members.items()}


def _value(value: Any, info: Any) -> Any:
    """A value as its field declares it, such as a pydantic model; as JSON where it does not fit."""
    if info is None:
        return value
    try:
        return TypeAdapter(info.annotation).validate_python(value)
    except ValidationError:
        return value
