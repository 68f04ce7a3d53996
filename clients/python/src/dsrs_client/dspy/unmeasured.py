"""Runs that failed for a reason that is not the program's, where DSPy would score them as 0."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from .scoring import Scoring
from .server import status_of

T = TypeVar("T")

LONGEST_WAIT = 30.0

# Statuses of refusals that say nothing about the inputs; all from 500 as well.
_REFUSALS = {401, 402, 403, 404, 408, 429}

# What the same request in a few seconds does not change.
PERMANENT = {
    "budget_exhausted",
    "budget_spent",
    "forbidden",
    "missing_graph",
    "no_model",
    "not_found",
    "provider_quota_exhausted",
    "run_cancelled",
    "unauthenticated",
}


class Unmeasured(BaseException):
    """A run has no score, because it failed for a reason that is not the program's; ``__cause__`` is the failure.

    DSPy counts every `Exception` as a score of 0, so this is none: it ends the evaluation or the optimizer.
    """


def measured(execute: Callable[[], T], scoring: Scoring | None, waits: tuple[float, ...]) -> T:
    """The result of a run. Where it is scored, a failure that is not the program's is repeated after each wait."""
    if scoring is None:
        return execute()
    if (cause := scoring.cause()) is not None:
        raise Unmeasured(_message(cause)) from cause
    for wait in (*waits, None):
        try:
            return execute()
        except Exception as error:
            if not is_unmeasured(error):
                raise
            seconds = _wait(error, wait)
            if seconds is None:
                scoring.end(error)
                raise Unmeasured(_message(error)) from error
            time.sleep(seconds)
    raise AssertionError("the last attempt returns or raises")


def is_unmeasured(error: Exception) -> bool:
    """Whether a failure says nothing about the program: the server marks those of runs."""
    problem = _problem(error)
    if "unmeasured" in problem or "run_id" in problem:
        return bool(problem.get("unmeasured"))
    if (status := status_of(error)) is not None:
        return status in _REFUSALS or status >= 500
    return isinstance(error, (httpx.TransportError, ConnectionError, TimeoutError))


def _problem(error: Exception) -> dict[str, Any]:
    """The problem document, of an answer or in a run."""
    run = getattr(error, "run", None)
    problem = (run.get("error") or {"run_id": run["id"]}) if isinstance(run, dict) else getattr(error, "problem", None)
    return problem if isinstance(problem, dict) else {}


def _wait(error: Exception, wait: float | None) -> float | None:
    """Seconds before the next attempt; None if there is none."""
    problem = _problem(error)
    if wait is None or problem.get("code") in PERMANENT or status_of(error) == 401:
        return None
    asked = float(problem.get("retry_after") or 0)
    return max(wait, asked) if asked <= LONGEST_WAIT else None


def _message(error: Exception) -> str:
    return (
        "a run has no score, because it failed for a reason that is not the program's. Correct the cause or wait until "
        f"it is over, then start again. The cause: {error}"
    )
