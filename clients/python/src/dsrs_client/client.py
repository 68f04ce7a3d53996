"""The blocking client: graphs, runs, states, datasets, evaluations and optimizations of one server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from . import display, jobs
from .operations import GraphOperations, GraphTypes
from .problem import NotFound, problem_of
from .progress import progress
from .request import Json, Request, get, given, pages, segment
from .run import LAST_EVENTS, Event, Result, cancel, events_of, signal, wait
from .state import StateDifference, StateOperations
from .transport import RetryPolicy, Transport

_FORMATS = {".csv": "text/csv", ".jsonl": "application/jsonl", ".json": "application/json"}


class Client:
    """A server. `url` and `api_key` default to `DSRS_URL` and `DSRS_API_KEY`."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 600,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._transport = Transport(url, api_key, timeout, retry or RetryPolicy())

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def request(self, method: str, path: str, json: Json = None) -> Json:
        """Any request of the API."""
        return self._transport.send(Request(method, path, json))

    def events(self, method: str, path: str, json: Json = None) -> Iterator[Event]:
        """Any request of the API whose answer is the events of one run. The last event may be a failure."""
        with self._transport.stream(Request(method, path, json)) as lines:
            yield from events_of(lines)

    def graph(self, name: str, version: int | None = None, state_version: int | None = None) -> Graph:
        """A stored graph. Nothing is sent until it is used."""
        return Graph(self._transport, GraphOperations(name, version, state_version))

    def graphs(self) -> list[Json]:
        """Every graph, newest first."""
        return self._transport.run(pages("/v1/graphs", limit=100))

    def push(self, definition: dict[str, Any]) -> Graph:
        """Stores a definition: a new graph, or a new version of it. What changes nothing makes no version."""
        name = definition["name"]
        try:
            self._transport.send(get(f"/v1/graphs/{segment(name)}"))
        except NotFound:
            self.request("POST", "/v1/graphs", definition)
        else:
            self.request("PUT", f"/v1/graphs/{segment(name)}", definition)
        return self.graph(name)

    def validate(self, definition: dict[str, Any]) -> Json:
        """Checks a definition without storing it."""
        return self.request("POST", "/v1/graphs/validate", definition)

    def compare(self, evaluation: str, against: str) -> Json:
        """Two evaluations, by their ids, example by example; what one of them could not measure is left out."""
        return self._transport.run(jobs.compare(evaluation, against))

    def upload(self, name: str, examples: Iterable[dict[str, Any]] | str | Path, **options: Any) -> Json:
        """Stores a dataset: a list of `{"inputs": …, "expected": …}`, or a CSV or JSON lines file with `inputs=[…]`."""
        if not isinstance(examples, (str, Path)):
            return self.request("POST", "/v1/datasets", {"name": name, "examples": list(examples), **options})
        path = Path(examples)
        columns = {key: ",".join(value) if isinstance(value, list) else str(value) for key, value in options.items()}
        sent = Request(
            "POST",
            "/v1/datasets",
            params={"name": name, **columns},
            content=path.read_bytes(),
            content_type=_FORMATS[path.suffix],
        )
        return self._transport.send(sent)


class Graph:
    """A graph: call it with its inputs."""

    def __init__(self, transport: Transport, operations: GraphOperations) -> None:
        self._transport = transport
        self._operations = operations
        self.name = operations.name
        self.state = State(transport, StateOperations(operations.name))

    def __call__(self, *, timeout_ms: int | None = None, **inputs: Any) -> Result:
        """Runs the graph; a run that fails raises `RunFailed`."""
        return self._transport.run(self._operations.execute(inputs, timeout_ms))

    @property
    def types(self) -> GraphTypes:
        """The inputs and outputs as pydantic models."""
        return self._transport.run(self._operations.types())

    def definition(self) -> Json:
        """The stored definition."""
        return self._transport.send(get(self._operations.path))

    def delete(self) -> None:
        """Deletes the graph."""
        self._transport.send(Request("DELETE", self._operations.path))

    def stream(self, **inputs: Any) -> Iterator[Event]:
        """Runs the graph and yields its events; a run that fails raises at its end."""
        with self._transport.stream(self._operations.stream(inputs)) as lines:
            for event in events_of(lines):
                yield event
                if event.kind in LAST_EVENTS and event.kind != "run.completed":
                    raise problem_of(event.data.get("status", 409), event.data)

    def start(self, **inputs: Any) -> BackgroundRun:
        """Starts a run in the background."""
        return BackgroundRun(self._transport, self, self._transport.run(self._operations.start(inputs)))

    def batch(
        self, rows: Iterable[dict[str, Any]], *, concurrency: int | None = None, show: bool | None = None
    ) -> list[Result | Exception]:
        """Runs every row on the server; a row that fails has its problem in the list."""
        started = self._transport.run(self._operations.start_batch(rows, concurrency))
        self._follow(f"/v1/batches/{started['id']}", f"batch of {self.name}", show)
        return self._transport.run(self._operations.batch_results(started["id"]))

    def render(self, node: str, **inputs: Any) -> dict[str, list[dict[str, Any]]]:
        """The messages that a node would send, by predictor. No model is called."""
        return self._transport.run(self._operations.render(node, inputs))

    def evaluate(
        self,
        dataset: Any,
        metric: Any = "exact",
        *,
        max_unmeasured: float | None = None,
        show: bool | None = None,
        **options: Any,
    ) -> Json:
        """Scores the graph on a dataset and waits for the end.

        `max_unmeasured` is the share of the examples that may have no score, because the provider, the time or a budget
        failed; if more do, it raises `too_many_unmeasured`.
        """
        options["max_unmeasured"] = max_unmeasured
        started = self._transport.run(jobs.start_evaluation(self.name, dataset, metric, options))
        return self._follow(f"/v1/evaluations/{started['id']}", f"evaluation of {self.name}", show)

    def optimize(
        self,
        optimizer: str,
        trainset: Any,
        metric: Any = "exact",
        *,
        max_unmeasured: float | None = None,
        show: bool | None = None,
        **options: Any,
    ) -> Json:
        """Searches a better state and waits for the end. `max_unmeasured` is that of `evaluate`."""
        options["max_unmeasured"] = max_unmeasured
        started = self._transport.run(jobs.start_optimization(self.name, optimizer, trainset, metric, options))
        return self._follow(f"/v1/optimizations/{started['id']}", f"{optimizer} on {self.name}", show)

    def _follow(self, path: str, title: str, show: bool | None) -> Json:
        job = self._transport.run(jobs.follow(path, progress(title, show), 0.25))
        if job["status"] != "succeeded" and job.get("error"):
            raise problem_of(job["error"].get("status", 500), job["error"])
        return job

    def __repr__(self) -> str:
        return f"<graph {self.name}>"

    def _repr_html_(self) -> str:
        return display.graph(self.definition())


class State:
    """The instructions and demos of a graph, in versions."""

    def __init__(self, transport: Transport, operations: StateOperations) -> None:
        self._transport = transport
        self._operations = operations

    def get(self, version: int | None = None) -> Json:
        """The active state, or a version."""
        return self._transport.run(self._operations.get(version))

    def history(self) -> list[Json]:
        """Every version, newest first."""
        return self._transport.run(self._operations.history())

    def put(self, predictors: dict[str, Any]) -> Json:
        """Stores a new version and activates it."""
        return self._transport.run(self._operations.put(predictors))

    def patch(self, predictor: str, **change: Any) -> Json:
        """Changes one predictor: `instruction`, `demos`, `lm`."""
        return self._transport.run(self._operations.patch(predictor, given(**change)))

    def diff(self, version: int, against: int | None = None) -> StateDifference:
        """What a version changed."""
        return self._transport.run(self._operations.diff(version, against))

    def activate(self, version: int) -> Json:
        """Makes a version the active one."""
        return self._transport.run(self._operations.activate(version))


class BackgroundRun:
    """A run in the background."""

    def __init__(self, transport: Transport, graph: Graph, run_id: str) -> None:
        self._transport = transport
        self._graph = graph
        self.id = run_id

    def wait(self, period: float = 0.2) -> Result:
        """Waits for its end; a run that fails raises `RunFailed`."""
        return self._transport.run(wait(self.id, self._graph.types.outputs, period))

    def status(self) -> str:
        """Its status."""
        return str(self._transport.send(get(f"/v1/runs/{self.id}"))["status"])

    def cancel(self) -> None:
        """Cancels it."""
        self._transport.send(cancel(self.id))

    def signal(self, node: str, **value: Any) -> None:
        """Sends a waiting node its value."""
        self._transport.send(signal(self.id, node, value))
