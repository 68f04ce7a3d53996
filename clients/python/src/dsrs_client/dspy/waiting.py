"""Runs a graph whose functions stay with the caller: calls them whenever the run or an agent in it waits for one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import dspy

from .json_value import to_json
from .outside import RESULT
from .server import Requests, Server
from .tool_result import result_of

POLL_SECONDS = 0.1


class RunFailed(Exception):
    """A run ended without outputs. ``run`` is the run, with its error."""

    def __init__(self, run: dict[str, Any]) -> None:
        error = run.get("error") or {}
        super().__init__(f"the run {run['id']} is {run['status']}: {error.get('detail', 'no error')}")
        self.run = run


def answer(
    name: str, inputs: dict[str, Any], functions: Mapping[str, Callable[..., Any]], *, client: Requests
) -> dict[str, Any]:
    """Runs the graph ``name`` in the background and sends what ``functions`` return; returns the run."""
    server = Server(client)
    return finished(server, server.start(name, {"inputs": inputs}), functions)


def finished(server: Server, run: dict[str, Any], functions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """The run when it has succeeded: what it waits for is called and sent."""
    if run["status"] == "waiting":
        # The answer of an execution has no trace.
        run = server.run(run["id"])
    while run["status"] in ("queued", "running", "waiting"):
        for node, state in run["nodes"].items():
            if run["status"] == "waiting" and state["status"] == "waiting":
                server.signal(run["id"], node, _value(run, node, functions))
        time.sleep(POLL_SECONDS)
        run = server.run(run["id"])
    if run["status"] != "succeeded":
        raise RunFailed(run)
    return run


def _value(run: dict[str, Any], node: str, functions: Mapping[str, Callable[..., Any]]) -> Any:
    """What the node waits for: the outputs of its function, or the answers to the calls of an agent."""
    if (calls := run["nodes"][node].get("calls")) is not None:
        return {call["id"]: _answer(call, _tool(run, call["tool"], functions)) for call in calls}
    return _outputs(_function(run, node, functions)(**_inputs(run, node)))


def _tool(run: dict[str, Any], name: str, functions: Mapping[str, Callable[..., Any]]) -> dspy.Tool:
    if name not in functions:
        raise LookupError(
            f"the run {run['id']} waits for the tool `{name}`: name its function, `functions={{{name!r}: …}}`, or "
            "answer the call yourself (docs/runs.md)"
        )
    function = functions[name]
    return function if isinstance(function, dspy.Tool) else dspy.Tool(function, name=name)


def _answer(call: dict[str, Any], tool: dspy.Tool) -> dict[str, Any]:
    """The result of a tool, or its exception, which the model reads, as DSPy's agents do."""
    try:
        with dspy.context(allow_tool_async_sync_conversion=True):
            returned = tool(**call["arguments"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"result": result_of(returned)}


def _inputs(run: dict[str, Any], node: str) -> dict[str, Any]:
    """The inputs of a waiting node; of a run that started as an execution, those in its trace."""
    if (inputs := run["nodes"][node].get("inputs")) is not None:
        return dict(inputs)
    spans = [span for span in run["trace"]["spans"] if span["kind"] == "node" and span["node"] == node]
    return dict(spans[-1]["inputs"])


def _function(run: dict[str, Any], node: str, functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The function of a node: several calls of one have numbers."""
    base = node if node in functions else re.sub(r"_\d+$", "", node)
    if base not in functions:
        raise LookupError(
            f"the run {run['id']} waits for `{node}`: name its function, `functions={{{base!r}: …}}`, or send the "
            "value yourself (docs/runs.md)"
        )
    return functions[base]


def _outputs(returned: Any) -> Any:
    """The outputs of the node: the members of a prediction, or one result."""
    value = to_json(returned.toDict() if hasattr(returned, "toDict") else returned)
    return value if isinstance(value, dict) else {RESULT: value}
