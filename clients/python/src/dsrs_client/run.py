"""Runs: their results, typed by the graph, and runs in the background."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .display import waterfall
from .event_stream import EventReader
from .problem import problem_of
from .request import Json, Operation, Pause, Request, get, keyed_post
from .schema_model import GraphModel


@dataclass(frozen=True)
class Usage:
    """What a run used. `cost` is None if the server knows no prices."""

    lm_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None


class Result:
    """The outputs of a run, by attribute and by name, and the run itself."""

    def __init__(self, run: dict[str, Any], outputs: GraphModel) -> None:
        self.run = run
        self.outputs = outputs
        self.run_id: str = run["id"]
        known = Usage.__dataclass_fields__
        self.usage = Usage(**{name: value for name, value in run["usage"].items() if name in known})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "outputs":
            raise AttributeError(name)
        return getattr(self.outputs, name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self.outputs, name)

    def __repr__(self) -> str:
        return repr(self.outputs)

    def _repr_html_(self) -> str:
        return waterfall(self.run)


@dataclass(frozen=True)
class Event:
    """An event of a run: `node.delta` has the text that a model writes."""

    kind: str
    data: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of a delta; empty for other events."""
        return str(self.data.get("text", "")) if self.kind == "node.delta" else ""


ENDED = {"succeeded", "failed", "cancelled"}
LAST_EVENTS = {"run.completed", "run.failed", "run.cancelled", "run.waiting"}


def events_of(lines: Iterable[str]) -> Iterator[Event]:
    """The events of one run, up to the last one."""
    reader = EventReader()
    for line in lines:
        if found := reader.read(line):
            yield Event(*found)
            if found[0] in LAST_EVENTS:
                return


def executed(run: Json, outputs: type[GraphModel]) -> Result:
    """The result of a run that ended; a failed one raises its problem."""
    if run["status"] != "succeeded":
        problem = run.get("error") or {"code": f"run_{run['status']}", "detail": f"the run is {run['status']}"}
        raise problem_of(problem.get("status", 409), {**problem, "run_id": run["id"]})
    return Result(run, outputs.model_validate(run["outputs"]))


def read(run_id: str, outputs: type[GraphModel]) -> Operation[Result]:
    """A run that has ended."""
    return executed((yield get(f"/v1/runs/{run_id}")), outputs)


def wait(run_id: str, outputs: type[GraphModel], period: float) -> Operation[Result]:
    """Waits for the end of a run. Stops with its problem if it waits for a value."""
    while True:
        run = yield get(f"/v1/runs/{run_id}")
        if run["status"] in ENDED or run["status"] == "waiting":
            return executed(run, outputs)
        yield Pause(period)


def cancel(run_id: str) -> Request:
    """Cancels a run."""
    return Request("POST", f"/v1/runs/{run_id}/cancel")


def signal(run_id: str, node: str, value: Json) -> Request:
    """Sends a waiting node its value."""
    return keyed_post(f"/v1/runs/{run_id}/signal", {"node": node, "value": value})
