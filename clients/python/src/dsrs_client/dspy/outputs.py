"""The outputs of a graph: what `forward` returns."""

from __future__ import annotations

from typing import Any

import dspy

from .annotation import Unknown
from .container import collected
from .contents import holds_value
from .decided import Decided
from .draft import Draft
from .link import Link
from .place import Place
from .refusal import op, refuse
from .structure import constant
from .value import Value, link_of


def declare_outputs(draft: Draft, returned: Any, place: Place | None) -> None:
    """Every member of the prediction is an output of its name."""
    if not isinstance(returned, (dspy.Prediction, dict)):
        name = "a value" if isinstance(returned, Value) else f"a {type(returned).__name__}"
        refuse(f"`forward` returns {name}, which has no name; return `dspy.Prediction(answer=…)`", None, place)
    for name, value in returned.items():
        if isinstance(value, Decided):
            draft.note(f"the output `{name}` is the value of a decision, without its probabilities and confidence")
            value = value.value
        draft.outputs[name] = draft.selection(_link(name, value))


def settle_inputs(draft: Draft) -> None:
    """An input whose type nothing says is a text."""
    for name, kind in draft.inputs.items():
        if kind is Unknown:
            draft.inputs[name] = str


def _link(name: str, value: Any) -> Link:
    if isinstance(value, Value):
        return link_of(value)
    if isinstance(value, dspy.Example):
        refuse(f"returns a `{type(value).__name__}` as `{name}`; return its members", op("collect"))
    return collected(value) if holds_value(value) else constant(value)
