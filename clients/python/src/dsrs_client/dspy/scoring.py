"""Whether a call is scored: made by one of DSPy's evaluations or optimizers, which mark this in their frames alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

_SCORE = ("dspy.evaluate.", "dspy.teleprompt.")
_EXECUTOR = "dspy.utils.parallelizer"

# What marks the executors of an evaluation that has ended: their threads continue with what is left (DSPy 3.4).
_CAUSE = "_dsrs_cause"


@dataclass(frozen=True)
class Scoring:
    """An evaluation, with the executors of its threads."""

    executors: tuple[Any, ...]

    def end(self, cause: Exception) -> None:
        """Ends the calls that are left."""
        for executor in self.executors:
            setattr(executor, _CAUSE, cause)

    def cause(self) -> Exception | None:
        """Why a call has ended it."""
        causes = (getattr(executor, _CAUSE, None) for executor in self.executors)
        return next((cause for cause in causes if cause is not None), None)


def scoring() -> Scoring | None:
    """The evaluation that makes this call."""
    executors: list[Any] = []
    is_scored = False
    for frame in _callers(sys._getframe(1), executors):
        is_scored = is_scored or str(frame.f_globals.get("__name__")).startswith(_SCORE)
    return Scoring(tuple(executors)) if is_scored else None


def _callers(frame: FrameType | None, executors: list[Any]) -> Iterator[FrameType]:
    """The frames that lead to a call, those of the threads that wait for its threads included."""
    waited = 0
    while frame is not None:
        yield frame
        executor = _executor(frame, "safe_func")
        if executor is not None:
            executors.append(executor)
        frame = frame.f_back
        if frame is None and waited < len(executors):
            waited = len(executors)
            frame = _waiting(executors[-1])


def _waiting(executor: Any) -> FrameType | None:
    """The frame that waits for the threads of an executor."""
    for frame in sys._current_frames().values():
        found: FrameType | None = frame
        while found is not None:
            if _executor(found, "_execute_parallel") is executor:
                return found
            found = found.f_back
    return None


def _executor(frame: FrameType, function: str) -> Any:
    if frame.f_code.co_name == function and frame.f_globals.get("__name__") == _EXECUTOR:
        return frame.f_locals.get("self")
    return None
