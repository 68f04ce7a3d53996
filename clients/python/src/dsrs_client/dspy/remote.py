"""A stored graph as a module of a DSPy program."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
import dspy

from .connection import Connection
from .hints import hint_of, with_hint
from .json_value import to_json
from .lm import known_settings
from .refusal import Stop
from .remote_nodes import defaults_of, inputs_of_graph, node_types, outputs_of_graph, predictor_of
from .scoring import Scoring, scoring
from .server import Requests
from .state import demos_of, values_of
from .streaming import listener_of
from .typed_outputs import signature_of, typed, types_of
from .unmeasured import measured

#: the members of a predictor's state
MEMBERS = ("instruction", "demos", "lm", "nearest", "decisions")


class Remote(dspy.Module):
    """The stored graph ``name``: called with its inputs, it returns its outputs.

    Its predictors are those of the graph, with their instructions and demos, so that DSPy's optimizers can change them.
    As long as they are as loaded, calls use the active state of the graph. Changed predictors run as a draft beside
    the graph, which stays as it is until :meth:`publish`. With a ``signature``, outputs have its types; one that does
    not fit raises :class:`InvalidOutputs`. ``functions`` are what a graph with `await` nodes waits for.
    In DSPy's evaluations and optimizers, a failure that is not the program's is repeated after each of ``waits``, in
    seconds, and then raises :class:`Unmeasured`. Anywhere else it is an exception like any other.
    """

    def __init__(
        self,
        name: str,
        *,
        client: Requests,
        signature: Any = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        waits: Sequence[float] = (1.0, 5.0),
    ) -> None:
        super().__init__()
        self.functions = dict(functions or {})
        self.waits = tuple(waits)
        self.connection = Connection(name, client)
        graph = self.connection.graph
        predictors = self.connection.predictors
        self.inputs, self.outputs = inputs_of_graph(graph), outputs_of_graph(graph, predictors)
        self.signature, self.types = None, {}
        if signature is not None:
            self.signature = signature_of(signature, name, self.inputs, self.outputs)
            self.types = types_of(self.signature)
            self.outputs |= {key: self.signature.output_fields[key].annotation for key in self.types}
        given = node_types(graph, self.signature)
        self.nodes = {item["path"]: predictor_of(item, graph["types"], given) for item in predictors}
        self.defaults = {item["path"]: defaults_of(item) for item in predictors}
        self.loaded = self._shown()

    def forward(self, **inputs: Any) -> Any:
        """Executes the graph."""
        return self._answer(inputs, scoring())

    async def aforward(self, **inputs: Any) -> Any:
        """Executes the graph beside other tasks."""
        answer = partial(self._answer, inputs, scoring())
        return await anyio.to_thread.run_sync(answer, abandon_on_cancel=True)

    def _answer(self, inputs: dict[str, Any], scoring: Scoring | None) -> Any:
        traced = dspy.settings.trace is not None
        sent, listener = _sent(inputs), listener_of(self)

        def execute() -> dict[str, Any]:
            return self.connection.execute(sent, self._state(), traced, self.functions, listener)

        run = measured(execute, scoring, self.waits)
        if traced:
            self._record(run["trace"]["spans"])
        if (tracker := dspy.settings.usage_tracker) is not None:
            tracker.add_usage(f"dsrs/{self.connection.name}", _usage(run["usage"]))
        return dspy.Prediction(**typed(run["outputs"], self.types, self.connection.name, run["id"]))

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
                inputs = values_of(span.get("inputs") or {}, predictor.signature)
                outputs = values_of(span["outputs"], predictor.signature)
                dspy.settings.trace.append((predictor, inputs, dspy.Prediction(**outputs)))


def _sent(inputs: dict[str, Any]) -> Any:
    """The inputs as JSON."""
    try:
        return to_json(inputs)
    except Stop as stop:
        raise TypeError(stop.reason.what) from None


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    """What a run used, by the names that DSPy's trackers sum."""
    read, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _path(span: dict[str, Any]) -> str:
    return str(span.get("predictor") or span.get("node") or "")


def _shown(predictor: Any, defaults: frozenset[str]) -> dict[str, Any]:
    """The state of a predictor as it is now."""
    settings = known_settings(getattr(predictor.lm, "kwargs", {}))
    state = {"instruction": predictor.signature.instructions, "demos": demos_of(predictor, defaults)}
    return {**state, "lm": settings} if settings else state


def _stored(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in MEMBERS if item.get(key) is not None}
