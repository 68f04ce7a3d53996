"""A stored graph as a Remote uses it: the graph itself, and a draft of it for states that are not active."""

from __future__ import annotations

import contextlib
import json
import uuid
import weakref
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from .server import Listener, Requests, Server
from .waiting import finished


class Connection:
    """Executes a graph with the active state or with any other one. Copies of a module share it."""

    def __init__(self, name: str, client: Requests) -> None:
        self.server, self.name = Server(client), name
        self._open()
        found = self.server.graph(name)
        if found is None:
            raise LookupError(f"there is no graph `{name}`")
        self.graph = found
        self.predictors = self.server.predictors(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Connection:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the draft, which belongs to this process."""
        return {name: vars(self)[name] for name in ("server", "name", "graph", "predictors")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    def _open(self) -> None:
        self._lock = Lock()
        self._draft: str | None = None
        self._versions: dict[str, int] = {}

    def execute(
        self,
        inputs: dict[str, Any],
        state: dict[str, Any] | None,
        trace: bool,
        functions: Mapping[str, Callable[..., Any]],
        listen: Listener | None = None,
    ) -> dict[str, Any]:
        """The run; with a state, of the draft. What it waits for is one of the functions."""
        name, body = self.name, {"inputs": inputs, "trace": trace}
        if state is not None:
            name, body["state_version"] = self._stored(state)
        if listen is not None and self.server.can_stream():
            run = self.server.stream(name, body, listen)
        else:
            run = self.server.execute(name, body)
        return finished(self.server, run, functions)

    def publish(self, state: dict[str, Any]) -> int:
        """Makes a state the active one of the graph."""
        version: int = self.server.put_state(self.name, {"predictors": state})["version"]
        return version

    def close(self) -> None:
        """Deletes the draft."""
        with self._lock:
            if self._draft is not None:
                self._delete_draft()
                self._draft = None
                self._versions.clear()

    def _stored(self, state: dict[str, Any]) -> tuple[str, int]:
        """The draft and the version of its state that this is. A state is stored once."""
        key = json.dumps(state, sort_keys=True)
        with self._lock:
            if self._draft is None:
                self._draft = self._new_draft()
            if key not in self._versions:
                self._versions[key] = self.server.put_state(self._draft, {"predictors": state})["version"]
            return self._draft, self._versions[key]

    def _new_draft(self) -> str:
        name = f"{self.name[:45]}-draft-{uuid.uuid4().hex[:8]}"
        definition = {key: self.graph[key] for key in ("types", "inputs", "nodes", "edges", "outputs")}
        description = f"Draft of `{self.name}` for states that DSPy tries. It is deleted when its program ends."
        self.server.store({"name": name, "description": description, **definition}, exists=False)
        self._delete_draft = weakref.finalize(self, _delete, self.server, name)
        return name


def _delete(server: Server, name: str) -> None:
    """Deletes a draft when its connection is gone or Python ends; it may be deleted already."""
    with contextlib.suppress(Exception):
        server.delete(name)
