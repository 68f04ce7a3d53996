"""Instructions and demos of predictors as state of a graph."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from .annotation import is_optional
from .draft import Bound
from .json_value import to_json
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
    return state


def demos_of(predictor: Any, defaults: frozenset[str]) -> list[dict[str, Any]]:
    """Demos as DSPy shows them, those with all fields last; without those that lack an input that has no default."""
    signature = predictor.signature
    shown = [demo for demo in _shown(predictor) if not _lacks_input(demo, signature, defaults)]
    count = len(signature.fields)
    complete = [demo for demo in shown if len(demo["input"]) + len(demo["output"]) == count]
    return [demo for demo in shown if demo not in complete] + complete


def notes_of(bound: Iterable[Bound]) -> list[str]:
    """What is left out of the state: demos that a graph refuses, and DSPy shows with a gap."""
    counts = {item.path: len(_shown(item.predictor)) - len(demos_of(item.predictor, item.defaults)) for item in bound}
    return [f"{count} demos of `{path}` lack an input and are left out" for path, count in counts.items() if count]


def _shown(predictor: Any) -> list[dict[str, Any]]:
    """The demos that have an input and an output at least."""
    signature = predictor.signature
    demos = [
        {"input": _part(demo, signature.input_fields), "output": _part(demo, signature.output_fields)}
        for demo in predictor.demos
    ]
    return [demo for demo in demos if demo["input"] and demo["output"]]


def _lacks_input(demo: dict[str, Any], signature: Any, defaults: frozenset[str]) -> bool:
    missing = set(signature.input_fields) - set(demo["input"]) - defaults
    return any(not is_optional(signature.input_fields[name].annotation) for name in missing)


def _part(demo: Any, fields: dict[str, Any]) -> dict[str, Any]:
    given = [name for name in fields if name in demo and demo[name] is not None]
    return {name: _json(demo[name], fields[name].annotation) for name in given}


def _json(value: Any, annotation: Any) -> Any:
    """A value as its field has it, also one of a saved file."""
    if annotation is bytes and isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return to_json(by_alias(text_of(value, annotation), annotation))


def apply_state(predictor: Any, state: dict[str, Any], generated: str | None = None) -> None:
    """Gives a predictor its instruction and demos."""
    instruction = state["effective_instruction"] if generated is None else state.get("instruction") or generated
    predictor.signature = predictor.signature.with_instructions(instruction)
    predictor.demos = [_demo(demo, predictor.signature) for demo in state.get("demos", [])]


def _demo(demo: dict[str, Any], signature: Any) -> Any:
    values = {
        name: _value(value, signature.fields.get(name)) for name, value in {**demo["input"], **demo["output"]}.items()
    }
    return dspy.Example(**values).with_inputs(*(name for name in demo["input"] if name in signature.input_fields))


def _value(value: Any, info: Any) -> Any:
    """A value as its field declares it, such as a pydantic model; as JSON where it does not fit."""
    if info is None:
        return value
    try:
        return TypeAdapter(info.annotation).validate_python(value)
    except ValidationError:
        return value
