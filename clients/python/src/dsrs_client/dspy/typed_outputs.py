"""The outputs of a graph as values of the types of a DSPy signature. Knows no request and no run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import dspy
from pydantic import TypeAdapter, ValidationError


class InvalidOutputs(ValueError):
    """Outputs of a run do not have the types of the signature. ``problems`` has a sentence for each wrong place."""

    def __init__(self, graph: str, run: str, problems: list[str]) -> None:
        where = f"the run {run} of `{graph}` has outputs that the signature of the `Remote` does not allow"
        super().__init__(f"{where}: {'; '.join(problems)}")
        self.run_id, self.problems = run, problems


def signature_of(given: Any, graph: str, inputs: Iterable[str], outputs: Iterable[str]) -> Any:
    """The signature, whose fields are fields of the graph."""
    signature = dspy.Signature(given) if isinstance(given, str) else given
    problems = _unknown("input", signature.input_fields, inputs)
    problems += _unknown("output", signature.output_fields, outputs)
    if problems:
        raise LookupError(f"the signature does not fit the graph `{graph}`: {'; '.join(problems)}")
    return signature


def _unknown(side: str, fields: Iterable[str], known: Iterable[str]) -> list[str]:
    listed = ", ".join(f"`{name}`" for name in known)
    return [f"it has the {side} `{name}`, the graph has {listed}" for name in fields if name not in known]


def types_of(signature: Any) -> dict[str, Any]:
    """The types of its outputs with their constraints."""
    return {
        name: Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        for name, info in signature.output_fields.items()
    }


def typed(outputs: Mapping[str, Any], types: Mapping[str, Any], graph: str, run: str) -> dict[str, Any]:
    """The outputs with their types; others stay JSON. Everything that does not fit is reported at once."""
    values, problems = dict(outputs), []
    for name, kind in types.items():
        if name not in outputs:
            problems.append(f"`{name}` is missing: the graph has another version than when the `Remote` was made")
            continue
        try:
            values[name] = read(outputs[name], kind)
        except ValidationError as error:
            problems += [_problem(name, detail) for detail in error.errors(include_url=False)]
    if problems:
        raise InvalidOutputs(graph, run, problems)
    return values


def read(value: Any, kind: Any) -> Any:
    """JSON as a value of a type, by the rules of pydantic for JSON: a date is a text, a set is a list."""
    if kind is bytes and isinstance(value, str):
        return base64.b64decode(value)
    return TypeAdapter(kind).validate_json(json.dumps(value))


def _problem(name: str, detail: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
    shown = repr(detail["input"])
    return f"`{name}{place}`: {detail['msg']}, not {shown if len(shown) <= 80 else f'{shown[:79]}…'}"
