"""Brings the state of a stored graph back into the DSPy program that it came from."""

from __future__ import annotations

from typing import Any

from .draft import Bound
from .leaf import of_program
from .options import Options
from .server import Requests, Server
from .state import apply_state
from .trace import Tracer

#: what all paths of one predictor have in common
SHARED = ("demos", "effective_instruction", "decisions")


class CannotPull(Exception):
    """The state of the graph does not fit the program."""


def pull(program: Any, name: str, *, client: Requests, **options: Any) -> Any:
    """Sets instructions, demos and rules of decisions of ``program`` to the active state of the graph ``name``.

    Returns the program.
    """
    draft = Tracer(program, Options(**options)).run()
    stored = Server(client).state(name)["predictors"]
    missing = [item.path for item in draft.bound if item.path not in stored]
    if missing:
        raise CannotPull(f"`{name}` has no predictor {', '.join(missing)}; push the program first")
    by_predictor: dict[int, list[Bound]] = {}
    for item in draft.bound:
        by_predictor.setdefault(id(of_program(item.predictor)), []).append(item)
    for items in by_predictor.values():
        _same_state(items, stored)
    for items in by_predictor.values():
        apply_state(items[0].predictor, stored[items[0].path], items[0].generated)
    return program


def _same_state(items: list[Bound], stored: dict[str, Any]) -> None:
    """A predictor that is called several times has several paths; it can take one state only."""
    states = [[stored[item.path].get(name) for name in SHARED] for item in items]
    if any(state != states[0] for state in states):
        paths = ", ".join(item.path for item in items)
        raise CannotPull(f"the predictor `{items[0].name}` is called at {paths}, which have different states")
