"""The asynchronous client: the same operations as the blocking one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any

from . import jobs
from .event_stream import EventReader
from .operations import GraphOperations, GraphTypes
from .problem import problem_of
from .progress import progress
from .request import Json, Request, get, given
from .run import LAST_EVENTS, Event, Result, cancel, signal, wait
from .state import StateDifference, StateOperations
from .transport import AsyncTransport, RetryPolicy


class AsyncClient:
    """A server. `url` and `api_key` default to `DSRS_URL` and `DSRS_API_KEY`."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 600,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._transport = AsyncTransport(url, api_key, timeout, retry or RetryPolicy())

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def request(self, method: str, path: str, json: Json = None) -> Json:
        """Any request of the API."""
        return await self._transport.send(Request(method, path, json))

    async def compare(self, evaluation: str, against: str) -> Json:
        """Two evaluations, by their ids, example by example; what one of them could not measure is left out."""
        return await self._transport.run(jobs.compare(evaluation, against))

    def graph(self, name: str, version: int | None = None, state_version: int | None = None) -> AsyncGraph:
        """A stored graph. Nothing is sent until it is used."""
        return AsyncGraph(self._transport, GraphOperations(name, version, state_version))


class AsyncGraph:
    """A graph: await it with its inputs."""

    def __init__(self, transport: AsyncTransport, operations: GraphOperations) -> None:
        self._transport = transport
        self._operations = operations
        self.name = operations.name
        self.state = AsyncState(transport, StateOperations(operations.name))

    async def __call__(self, *, timeout_ms: int | None = None, **inputs: Any) -> Result:
        """Runs the graph; a run that fails raises `RunFailed`."""
        return await self._transport.run(self._operations.execute(inputs, timeout_ms))

    async def types(self) -> GraphTypes:
        """The inputs and outputs as pydantic models."""
        return await self._transport.run(self._operations.types())

    async def stream(self, **inputs: Any) -> AsyncIterator[Event]:
        """Runs the graph and yields its events; a run that fails raises at its end."""
        async with self._transport.stream(self._operations.stream(inputs)) as lines:
            reader = EventReader()
            async for line in lines:
                if found := reader.read(line):
                    event = Event(*found)
                    yield event
                    if event.kind in LAST_EVENTS:
                        if event.kind != "run.completed":
                            raise problem_of(event.data.get("status", 409), event.data)
                        return

    async def start(self, **inputs: Any) -> AsyncBackgroundRun:
        """Starts a run in the background."""
        run_id = await self._transport.run(self._operations.start(inputs))
        return AsyncBackgroundRun(self._transport, self, run_id)

    async def batch(
        self, rows: Iterable[dict[str, Any]], *, concurrency: int | None = None, show: bool | None = None
    ) -> list[Result | Exception]:
        """Runs every row on the server; a row that fails has its problem in the list."""
        started = await self._transport.run(self._operations.start_batch(rows, concurrency))
        await self._follow(f"/v1/batches/{started['id']}", f"batch of {self.name}", show)
        return await self._transport.run(self._operations.batch_results(started["id"]))

    async def render(self, node: str, **inputs: Any) -> dict[str, list[dict[str, Any]]]:
        """The messages that a node would send, by predictor. No model is called."""
        return await self._transport.run(self._operations.render(node, inputs))

    async def evaluate(
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
        started = await self._transport.run(jobs.start_evaluation(self.name, dataset, metric, options))
        return await self._follow(f"/v1/evaluations/{started['id']}", f"evaluation of {self.name}", show)

    async def optimize(
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
        started = await self._transport.run(jobs.start_optimization(self.name, optimizer, trainset, metric, options))
        return await self._follow(f"/v1/optimizations/{started['id']}", f"{optimizer} on {self.name}", show)

    async def definition(self) -> Json:
        """The stored definition."""
        return await self._transport.send(get(self._operations.path))

    async def delete(self) -> None:
        """Deletes the graph."""
        await self._transport.send(Request("DELETE", self._operations.path))

    async def _follow(self, path: str, title: str, show: bool | None) -> Json:
        job = await self._transport.run(jobs.follow(path, progress(title, show), 0.25))
        if job["status"] != "succeeded" and job.get("error"):
            raise problem_of(job["error"].get("status", 500), job["error"])
        return job


class AsyncState:
    """The instructions and demos of a graph, in versions."""

    def __init__(self, transport: AsyncTransport, operations: StateOperations) -> None:
        self._transport = transport
        self._operations = operations

    async def get(self, version: int | None = None) -> Json:
        """The active state, or a version."""
        return await self._transport.run(self._operations.get(version))

    async def history(self) -> list[Json]:
        """Every version, newest first."""
        return await self._transport.run(self._operations.history())

    async def put(self, predictors: dict[str, Any]) -> Json:
        """Stores a new version and activates it."""
        return await self._transport.run(self._operations.put(predictors))

    async def patch(self, predictor: str, **change: Any) -> Json:
        """Changes one predictor: `instruction`, `demos`, `lm`."""
        return await self._transport.run(self._operations.patch(predictor, given(**change)))

    async def diff(self, version: int, against: int | None = None) -> StateDifference:
        """What a version changed."""
        return await self._transport.run(self._operations.diff(version, against))

    async def activate(self, version: int) -> Json:
        """Makes a version the active one."""
        return await self._transport.run(self._operations.activate(version))


class AsyncBackgroundRun:
    """A run in the background."""

    def __init__(self, transport: AsyncTransport, graph: AsyncGraph, run_id: str) -> None:
        self._transport = transport
        self._graph = graph
        self.id = run_id

    async def wait(self, period: float = 0.2) -> Result:
        """Waits for its end; a run that fails raises `RunFailed`."""
        types = await self._graph.types()
        return await self._transport.run(wait(self.id, types.outputs, period))

    async def cancel(self) -> None:
        """Cancels it."""
        await self._transport.send(cancel(self.id))

    async def signal(self, node: str, **value: Any) -> None:
        """Sends a waiting node its value."""
        await self._transport.send(signal(self.id, node, value))
