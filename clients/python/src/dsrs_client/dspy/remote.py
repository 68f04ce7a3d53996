"""A stored graph as a module of a DSPy program."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from .connection import Connection
from .hints import hint_of, with_hint
from .json_value import to_json
from .lm import known_settings
from .scoring import Scoring, scoring
from .server import Requests
from .state import apply_state, demos_of
from .type_text import python_type
from .unmeasured import measured

#: the members of a predictor's state
MEMBERS = ("instruction", "demos", "lm", "nearest", "decisions")


class Remote(dspy.Module):
    """The stored graph ``name``: called with its inputs, it returns its outputs.

    Its predictors are those of the graph, with their instructions and demos, so that DSPy's optimizers can change them.
    As long as they are as loaded, calls use the active state of the graph. Changed predictors run as a draft beside
    the graph, which stays as it is until :meth:`publish`. ``functions`` are what a graph with `await` nodes waits for.
    In DSPy's evaluations and optimizers, a failure that is not the program's is repeated after each of ``waits``, in
    seconds, and then raises :class:`Unmeasured`. Anywhere else it is an exception like any other.
    """

    def __init__(
        self,
        name: str,
        *,
        client: Requests,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        waits: Sequence[float] = (1.0, 5.0),
    ) -> None:
        super().__init__()
        self.functions = dict(functions or {})
        self.waits = tuple(waits)
        self.connection = Connection(name, client)
        graph = self.connection.graph
        types = graph["types"]
        self.inputs = {key: python_type(_text(field), types) for key, field in graph["inputs"].items()}
        self.outputs = {key: _output(self.connection, source) for key, source in graph["outputs"].items()}
        self.nodes = {item["path"]: _predictor(item, types) for item in self.connection.predictors}
        self.defaults = {item["path"]: _defaults(item) for item in self.connection.predictors}
        self.loaded = self._shown()

    def forward(self, **inputs: Any) -> Any:
        """Executes the graph."""
        return self._answer(inputs, scoring())

    def _answer(self, inputs: dict[str, Any], scoring: Scoring | None) -> Any:
        traced = dspy.settings.trace is not None

        def execute() -> dict[str, Any]:
            return self.connection.execute(to_json(inputs), self._state(), traced, self.functions)

        run = measured(execute, scoring, self.waits)
        if traced:
            self._record(run["trace"]["spans"])
        if (tracker := dspy.settings.usage_tracker) is not None:
            tracker.add_usage(f"dsrs/{self.connection.name}", _usage(run["usage"]))
        return dspy.Prediction(**run["outputs"])

    async def aforward(self, **inputs: Any) -> Any:
        """Executes the graph beside other tasks."""
        return await asyncio.to_thread(self._answer, inputs, scoring())

    def publish(self) -> int:
        """Makes the instructions and demos of this module the active state of the graph; returns its version."""
        return self.connection.publish(self._state() or self.loaded_state())

    def close(self) -> None:
        """Deletes the draft, if there is one."""
        self.connection.close()

    def loaded_state(self) -> dict[str, Any]:
        """The state that the graph had when this module was made."""
        return {item["path"]: _stored(item) for item in self.connection.predictors}

    def _state(self) -> dict[str, Any] | None:
        """The whole state, unless it is the one that was loaded. Hints of `dspy.Refine` belong to it."""
        hints = {path: hint_of(predictor) for path, predictor in self.nodes.items()}
        shown = {path: with_hint(state, hints[path]) for path, state in self._shown().items()}
        loaded = self.loaded_state()
        rules = {path: {key: state[key] for key in ("decisions",) if key in state} for path, state in loaded.items()}
        changed = {path: {**rules[path], **state} for path, state in shown.items() if state != self.loaded[path]}
        return {**loaded, **changed} if changed else None

    def _shown(self) -> dict[str, Any]:
        """The state of all predictors as it is now."""
        return {path: _shown(predictor, self.defaults[path]) for path, predictor in self.nodes.items()}

    def _record(self, spans: list[dict[str, Any]]) -> None:
        """Adds the calls of the graph's predictors to DSPy's trace, where optimizers look for examples."""
        for span in spans:
            predictor = self.nodes.get(_path(span))
            if span["kind"] == "predictor" and span.get("outputs") and predictor is not None:
                dspy.settings.trace.append((predictor, span.get("inputs") or {}, dspy.Prediction(**span["outputs"])))


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    """What a run used, by the names that DSPy's trackers sum."""
    read, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _text(field: Any) -> str:
    return str(field["type"] if isinstance(field, dict) else field)


def _output(connection: Connection, source: str) -> Any:
    """The type of an output, where a signature says it."""
    node, _, name = source.partition(".")
    signature = connection.graph["nodes"].get(node, {}).get("signature") or {"outputs": []}
    fields = [field for field in signature["outputs"] if field["name"] == name]
    for item in connection.predictors:
        fields += [field for field in item["schema"]["outputs"] if item["node"] == node and field["name"] == name]
    return python_type(_text(fields[0]), connection.graph["types"]) if fields else Any


def _path(span: dict[str, Any]) -> str:
    return str(span.get("predictor") or span.get("node") or "")


def _predictor(item: dict[str, Any], types: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {}
    for side, make in (("inputs", dspy.InputField), ("outputs", dspy.OutputField)):
        for field in item["schema"][side]:
            text = {"desc": field["description"]} if field.get("description") else {}
            fields[field["name"]] = (python_type(field["type"], types), make(**text))
    predictor = dspy.Predict(dspy.Signature(fields, item["effective_instruction"]))
    apply_state(predictor, item)
    return predictor


def _defaults(item: dict[str, Any]) -> frozenset[str]:
    return frozenset(field["name"] for field in item["schema"]["inputs"] if "default" in field)


def _shown(predictor: Any, defaults: frozenset[str]) -> dict[str, Any]:
    """The state of a predictor as it is now."""
    settings = known_settings(getattr(predictor.lm, "kwargs", {}))
    state = {"instruction": predictor.signature.instructions, "demos": demos_of(predictor, defaults)}
    return {**state, "lm": settings} if settings else state


def _stored(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in MEMBERS if item.get(key) is not None}
