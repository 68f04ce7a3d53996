"""What is raised when a DSPy program cannot become a graph, and the names of the nearest ops."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import NoReturn

from .place import Place, here

OPS_PAGE = "docs/strategies.md"


@dataclass(frozen=True)
class Reason:
    """One thing that a graph cannot say: where it is, what it is, and what comes nearest."""

    place: Place | None
    what: str
    nearest: str | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        way_out = f" {self.nearest}" if self.nearest else ""
        return f"{where}{self.what}.{way_out}"


class CannotPush(Exception):
    """The program does things that a graph cannot say. ``reasons`` lists them with file and line."""

    def __init__(self, reasons: list[Reason]) -> None:
        super().__init__("\n".join(str(reason) for reason in reasons))
        self.reasons = reasons


class Stop(BaseException):
    """Ends a trace. No ``except Exception`` of a program catches it; :func:`push` turns it into :class:`CannotPush`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason
        if (stops := STOPS.get()) is not None:
            stops.append(self)


class Fork(BaseException):
    """Ends a trace at a test whose way is not decided yet. No ``except Exception`` of a program catches it."""


#: what the trace of this context has refused, so that not even a bare `except` of a program hides it
STOPS: ContextVar[list[Stop] | None] = ContextVar("STOPS", default=None)


def op(name: str) -> str:
    """The sentence that points to an op or a strategy."""
    return f"Nearest: `{name}` ({OPS_PAGE}#{name})."


def refuse(what: str, nearest: str | None = None, place: Place | None = None) -> NoReturn:
    """Ends the trace at the line of the program that runs now."""
    raise Stop(Reason(place or here(), what, nearest))
