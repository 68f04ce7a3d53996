"""What the client does with a graph, as operations: the blocking and the asynchronous client run the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from .request import Json, Operation, Request, get, given, keyed_post, pages, segment
from .run import Result, executed
from .schema_model import GraphModel, ModelBuilder


@dataclass
class GraphTypes:
    """The inputs and outputs of a graph as models."""

    inputs: type[GraphModel]
    outputs: type[GraphModel]


@dataclass
class GraphOperations:
    """The operations of one graph, at its newest version or at a fixed one."""

    name: str
    version: int | None = None
    state_version: int | None = None
    _types: GraphTypes | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """The path of the graph."""
        return f"/v1/graphs/{segment(self.name)}"

    def types(self) -> Operation[GraphTypes]:
        """The models of the graph, read once."""
        if self._types is None:
            version = f"/versions/{self.version}" if self.version else ""
            contract = yield get(f"{self.path}{version}/openapi.json")
            builder = ModelBuilder(contract["components"]["schemas"])
            self._types = GraphTypes(builder.model("Inputs"), builder.model("Outputs"))
        return self._types

    def body(self, inputs: dict[str, Any], **members: Any) -> dict[str, Any]:
        """The body that runs the graph."""
        chosen = given(version=self.version, state_version=self.state_version, **members)
        return {"inputs": plain(inputs), **chosen}

    def execute(self, inputs: dict[str, Any], timeout_ms: int | None) -> Operation[Result]:
        """Runs the graph and reads its outputs."""
        types = yield from self.types()
        run = yield keyed_post(f"{self.path}/execute", self.body(inputs, timeout_ms=timeout_ms))
        return executed(run, types.outputs)

    def start(self, inputs: dict[str, Any]) -> Operation[str]:
        """Starts a run in the background; returns its id."""
        run = yield keyed_post(f"{self.path}/runs", self.body(inputs))
        return str(run["id"])

    def stream(self, inputs: dict[str, Any]) -> Request:
        """Runs the graph and streams its events."""
        return Request("POST", f"{self.path}/execute", self.body(inputs))

    def start_batch(self, rows: Iterable[dict[str, Any]], concurrency: int | None) -> Operation[Json]:
        """Starts a run for each row."""
        items = [plain(row) for row in rows]
        chosen = given(version=self.version, state_version=self.state_version, concurrency=concurrency)
        return (yield keyed_post(f"{self.path}/batches", {"items": items, **chosen}))

    def batch_results(self, batch_id: str) -> Operation[list[Result | Exception]]:
        """The result of each row, in their order; a row that failed has its problem."""
        types = yield from self.types()
        items = yield from pages(f"/v1/batches/{batch_id}/results", limit=200)
        return [_batch_result(item, types.outputs) for item in items]

    def render(self, node: str, inputs: dict[str, Any]) -> Operation[dict[str, list[dict[str, Any]]]]:
        """The messages of each predictor of a node, without a call of a model."""
        body = {"node": node, **self.body(inputs)}
        rendered = yield Request("POST", f"{self.path}/render", body)
        return {path: shown["messages"] for path, shown in rendered["predictors"].items()}


def _batch_result(item: Json, outputs: type[GraphModel]) -> Result | Exception:
    run = {"usage": {}, "nodes": {}, "created_at": "1970-01-01T00:00:00Z", **item}
    run["id"] = item.get("run_id") or ""
    run["usage"] = item.get("usage") or {}
    try:
        return executed(run, outputs)
    except Exception as problem:
        return problem


def plain(value: Any) -> Any:
    """A value as JSON: models become objects."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return getattr(value, "value", value) if isinstance(value, str) else value
