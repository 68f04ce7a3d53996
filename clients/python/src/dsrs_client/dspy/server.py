"""The requests that this package sends, over anything that can send one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import quote

from ..problem import problem_of

#: receives the kind and the data of an event
Listener = Callable[[str, dict[str, Any]], None]


class Requests(Protocol):
    """Sends a request and returns the JSON of its answer. A problem is an exception with `status` and `problem`."""

    def request(self, method: str, path: str, json: Any = None) -> Any:
        """One request."""
        ...


class Server:
    """The routes of graphs and states."""

    def __init__(self, client: Requests) -> None:
        self._client = client

    def graph(self, name: str) -> dict[str, Any] | None:
        """The newest version of a graph, if there is one."""
        try:
            return self._get(f"/v1/graphs/{quote(name)}")
        except Exception as error:
            if status_of(error) == 404:
                return None
            raise

    def store(self, definition: dict[str, Any], exists: bool) -> dict[str, Any]:
        """Creates the graph, or a new version of it where it differs."""
        if exists:
            return self._send("PUT", f"/v1/graphs/{quote(definition['name'])}", definition)
        return self._send("POST", "/v1/graphs", definition)

    def delete(self, name: str) -> None:
        """Deletes a graph."""
        self._client.request("DELETE", f"/v1/graphs/{quote(name)}")

    def state(self, name: str) -> dict[str, Any]:
        """The active state."""
        return self._get(f"/v1/graphs/{quote(name)}/state")

    def put_state(self, name: str, state: dict[str, Any]) -> dict[str, Any]:
        """Replaces the state and activates it."""
        return self._send("PUT", f"/v1/graphs/{quote(name)}/state", state)

    def predictors(self, name: str) -> list[dict[str, Any]]:
        """All predictors with their schemas."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self._get(f"/v1/graphs/{quote(name)}/predictors?limit=100" + (f"&cursor={cursor}" if cursor else ""))
            found += page["items"]
            cursor = page.get("next_cursor")
        return found

    def render(self, name: str, node: str, inputs: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """The messages of each predictor of a node; none where the inputs break a constraint."""
        try:
            answer = self._send("POST", f"/v1/graphs/{quote(name)}/render", {"node": node, "inputs": inputs})
        except Exception as error:
            if status_of(error) != 422:
                raise
            return {}
        return {path: shown["messages"] for path, shown in answer["predictors"].items()}

    def execute(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Runs a graph."""
        return self._send("POST", f"/v1/graphs/{quote(name)}/execute", body)

    def can_stream(self) -> bool:
        """Whether the client can read events."""
        return callable(getattr(self._client, "events", None))

    def stream(self, name: str, body: dict[str, Any], listen: Listener) -> dict[str, Any]:
        """Runs a graph as `execute` does; its events are received meanwhile."""
        events = self._client.events("POST", f"/v1/graphs/{quote(name)}/execute", body)  # type: ignore[attr-defined]
        with contextlib.closing(events):
            for event in events:
                listen(event.kind, event.data)
                if event.kind in ("run.completed", "run.waiting"):
                    return dict(event.data)
                if event.kind in ("run.failed", "run.cancelled"):
                    raise problem_of(event.data.get("status", 409), event.data)
        raise ConnectionError(f"the events of a run of `{name}` ended before the run")

    def start(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Starts a run in the background."""
        return self._send("POST", f"/v1/graphs/{quote(name)}/runs", body)

    def run(self, identifier: str) -> dict[str, Any]:
        """A run."""
        return self._get(f"/v1/runs/{identifier}")

    def signal(self, identifier: str, node: str, value: Any) -> None:
        """Sends a waiting node its outputs."""
        self._send("POST", f"/v1/runs/{identifier}/signal", {"node": node, "value": value})

    def _get(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._client.request("GET", path)
        return answer

    def _send(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._client.request(method, path, json=body)
        return answer


def status_of(error: Exception) -> int | None:
    """The status of a problem."""
    status = getattr(error, "status", None)
    return status if isinstance(status, int) else getattr(error, "status_code", None)


def problems_of(error: Exception) -> list[dict[str, Any]]:
    """The places of a problem, as the server lists them."""
    problem = getattr(error, "problem", None)
    return list(problem.get("errors") or []) if isinstance(problem, dict) else []
