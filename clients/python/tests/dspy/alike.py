"""Runs a program in DSPy and as a graph over the same scripted LM, and compares what goes into each predictor."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from pydantic_core import to_jsonable_python

from dsrs_client import Client
from dsrs_client.dspy import Pushed, answer

Call = tuple[str, str]


class Calls(BaseCallback):
    """The inputs of each predictor, written down when it is called: DSPy's own trace shows lists as they are later."""

    def __init__(self, program: Any) -> None:
        self.names = {id(predictor): name for name, predictor in program.named_predictors()}
        self.made: list[Call] = []

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A module is called."""
        if id(instance) in self.names:
            self.made.append((self.names[id(instance)], _text(inputs["kwargs"])))


def assert_alike(
    client: Client,
    program: Any,
    pushed: Pushed,
    inputs: dict[str, Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> dict[str, Any]:
    """Compares the outputs, and the inputs of every call of every predictor; returns the outputs."""
    run = answer(pushed.name, inputs, functions or {}, client=client)
    spans = client.request("GET", f"/v1/runs/{run['id']}")["trace"]["spans"]
    calls = Calls(program)
    with dspy.context(callbacks=[calls]):
        prediction = program(**inputs)
    assert run["outputs"] == to_jsonable_python(prediction.toDict())
    assert _of_graph(pushed, spans) == sorted(calls.made)
    outputs: dict[str, Any] = run["outputs"]
    return outputs


def _of_graph(pushed: Pushed, spans: list[dict[str, Any]]) -> list[Call]:
    names = {path: name for name, paths in pushed.paths.items() for path in paths}
    called = [(names[span["predictor"]], _text(span["inputs"])) for span in spans if span["kind"] == "predictor"]
    return sorted(called)


def _text(inputs: Any) -> str:
    return json.dumps(to_jsonable_python(inputs), sort_keys=True)
