"""The state of a graph: instructions and demos of its predictors, in versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .display import difference
from .request import Json, Operation, Request, get, pages, segment


class StateDifference:
    """What differs between two versions of a state."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.predictors: dict[str, Any] = found["predictors"]
        self.text = "\n".join(found["text"]) if isinstance(found["text"], list) else str(found["text"])

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return difference(self.text)


@dataclass(frozen=True)
class StateOperations:
    """The operations of the state of one graph."""

    graph: str

    @property
    def _path(self) -> str:
        return f"/v1/graphs/{segment(self.graph)}"

    def get(self, version: int | None = None) -> Operation[Json]:
        """The active state, or a version."""
        return (yield get(f"{self._path}/state" + (f"/versions/{version}" if version else "")))

    def history(self) -> Operation[list[Json]]:
        """Every version, newest first."""
        return (yield from pages(f"{self._path}/state/versions", limit=100))

    def put(self, predictors: dict[str, Any]) -> Operation[Json]:
        """Stores a new version and activates it."""
        return (yield Request("PUT", f"{self._path}/state", {"predictors": predictors}))

    def patch(self, predictor: str, change: dict[str, Any]) -> Operation[Json]:
        """Changes one predictor: its instruction, its demos, its settings."""
        return (yield Request("PATCH", f"{self._path}/predictors/{segment(predictor)}", change))

    def diff(self, version: int, against: int | None = None) -> Operation[StateDifference]:
        """What a version changed since another; by default since the one that it was made of."""
        return StateDifference((yield get(f"{self._path}/state/versions/{version}/diff", against=against)))

    def activate(self, version: int) -> Operation[Json]:
        """Makes a version the active one."""
        return (yield Request("POST", f"{self._path}/state/versions/{version}/activate"))
