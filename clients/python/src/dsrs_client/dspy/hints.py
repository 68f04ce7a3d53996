"""The hints that `dspy.Refine` gives to the predictors of its module, which it puts into prompts by an adapter."""

from __future__ import annotations

from typing import Any

import dspy

#: what an adapter of `Refine` gives to a predictor that is not to blame
NONE = "N/A"
FIELD = "hint_"


def hint_of(predictor: Any) -> str | None:
    """The hint for a predictor in the attempt that runs now."""
    adapter = dspy.settings.adapter
    if adapter is None or not type(adapter).__qualname__.startswith("Refine.forward.<locals>."):
        return None
    inputs: dict[str, Any] = {}
    try:
        # The adapter writes the hint into the inputs before it asks the model, which there is none.
        adapter(None, {}, predictor.signature, [], inputs)
    except Exception:
        hint = inputs.get(FIELD)
        return None if hint in (None, NONE) else str(hint)
    return None


def with_hint(state: dict[str, Any], hint: str | None) -> dict[str, Any]:
    """The state of a predictor with the hint in its instruction."""
    if hint is None:
        return state
    return {**state, "instruction": f"{state['instruction']}\n\nA hint from an earlier attempt: {hint}"}
