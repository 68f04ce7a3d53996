"""Runs a graph whose functions stay with the caller: calls them whenever the run waits for one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from .json_value import to_json
from .outside import RESULT
from .server import Requests, Server

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
    run = server.start(name, {"inputs": inputs})
    while run["status"] in ("queued", "running", "waiting"):
        for node, state in run["nodes"].items():
            if run["status"] == "waiting" and state["status"] == "waiting":
                returned = _function(node, functions)(**state["inputs"])
                server.signal(run["id"], node, _outputs(returned))
        time.sleep(POLL_SECONDS)
        run = server.run(run["id"])
    if run["status"] != "succeeded":
        raise RunFailed(run)
    return run


def _function(node: str, functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The function of a node: several calls of one have numbers."""
    base = node if node in functions else re.sub(r"_\d+$", "", node)
    if base not in functions:
        raise KeyError(f"the run waits for `{node}`, and `functions` has no function of this name")
    return functions[base]


def _outputs(returned: Any) -> Any:
    """The outputs of the node: the members of a prediction, or one result."""
    value = to_json(returned.toDict() if hasattr(returned, "toDict") else returned)
    return value if isinstance(value, dict) else {RESULT: value}
