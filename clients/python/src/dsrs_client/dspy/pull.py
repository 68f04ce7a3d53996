"""Brings the state of a stored graph back into the DSPy program that it came from."""

from __future__ import annotations

from typing import Any

import dspy

from .draft import Bound
from .options import Options
from .server import Requests, Server
from .trace import Tracer


class CannotPull(Exception):
    """The state of the graph does not fit the program."""


def pull(program: Any, name: str, *, client: Requests, **options: Any) -> Any:
    """Sets instructions and demos of ``program`` to the active state of the graph ``name``; returns the program."""
    draft = Tracer(program, Options(**options)).run()
    stored = Server(client).state(name)["predictors"]
    missing = [item.path for item in draft.bound if item.path not in stored]
    if missing:
        raise CannotPull(f"`{name}` has no predictor {', '.join(missing)}; push the program first")
    by_predictor: dict[int, list[Bound]] = {}
    for item in draft.bound:
        by_predictor.setdefault(id(item.predictor), []).append(item)
    for items in by_predictor.values():
        _same_state(items, stored)
    for items in by_predictor.values():
        apply_state(items[0].predictor, stored[items[0].path], items[0].generated)
    return program


def _same_state(items: list[Bound], stored: dict[str, Any]) -> None:
    """A predictor that is called several times has several paths; it can take one state only."""
    states = [(stored[item.path].get("demos", []), stored[item.path]["effective_instruction"]) for item in items]
    if any(state != states[0] for state in states):
        paths = ", ".join(item.path for item in items)
        raise CannotPull(f"the predictor `{items[0].name}` is called at {paths}, which have different states")


def apply_state(predictor: Any, state: dict[str, Any], generated: str | None = None) -> None:
    """Gives a predictor its instruction and demos."""
    instruction = state["effective_instruction"] if generated is None else state.get("instruction") or generated
    predictor.signature = predictor.signature.with_instructions(instruction)
    predictor.demos = [_demo(demo, predictor.signature) for demo in state.get("demos", [])]


def _demo(demo: dict[str, Any], signature: Any) -> Any:
    known = {**demo["input"], **demo["output"]}
    inputs = [name for name in demo["input"] if name in signature.input_fields]
    return dspy.Example(**{name: value for name, value in known.items()}).with_inputs(*inputs)
