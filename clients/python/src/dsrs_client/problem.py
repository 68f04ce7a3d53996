"""Problems of the server (RFC 9457) as exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ProblemItem:
    """One problem in a request."""

    pointer: str
    code: str
    detail: str


class Problem(Exception):
    """The server refused a request, or a run failed. `code` never changes its meaning: see `/problems`."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        self.code: str = problem.get("code", "unknown")
        self.detail: str = problem.get("detail", "")
        self.errors = [
            ProblemItem(item["pointer"], item["code"], item["detail"]) for item in problem.get("errors") or []
        ]
        self.request_id: str | None = problem.get("request_id")
        self.run_id: str | None = problem.get("run_id")
        self.node: str | None = problem.get("node")
        self.raw: str | None = problem.get("raw")
        #: of a run: the provider, the time, a budget or the server failed, which says nothing about the program
        self.is_unmeasured = bool(problem.get("unmeasured"))
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [f"{self.status} {self.code}: {self.detail}"]
        lines += [f"  {item.pointer}: {item.detail}" for item in self.errors]
        lines += [f"  {name}: {value}" for name, value in (("node", self.node), ("run", self.run_id)) if value]
        return "\n".join(lines)


class InvalidInput(Problem):
    """The inputs, the graph, the state or the body do not fit: `errors` has every place."""


class NotFound(Problem):
    """There is no such thing."""


class Conflict(Problem):
    """The resource is in another state, or somebody stored a newer version."""


class AccessDenied(Problem):
    """The key is missing, wrong, or may not do this."""


class QuotaReached(Problem):
    """The quota or the budget of the key is used up, also after the retries."""


class RunFailed(Problem):
    """A run failed: `node` and `raw`, the unchanged answer of the model, say where and why."""


class ServerUnavailable(Problem):
    """The server, its database or a model does not answer, also after the retries."""


_REFUSALS = {"invalid_request", "invalid_graph", "invalid_input", "invalid_state", "invalid_json", "invalid_parameter"}


def problem_of(status: int, problem: dict[str, Any]) -> Problem:
    """The exception for an answer."""
    if problem.get("run_id"):
        return RunFailed(status, problem)
    if problem.get("code") in _REFUSALS:
        return InvalidInput(status, problem)
    kinds: dict[int, type[Problem]] = {
        401: AccessDenied,
        402: QuotaReached,
        403: AccessDenied,
        404: NotFound,
        409: Conflict,
        412: Conflict,
        429: QuotaReached,
        503: ServerUnavailable,
    }
    return kinds.get(status, Problem)(status, problem)
