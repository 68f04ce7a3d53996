"""`dspy.ReActV2`: an agent whose steps are turns of the conversation, and whose outputs are submitted."""

from __future__ import annotations

from typing import Any

import dspy

from .leaf import KINDS, Inner, Leaf
from .options import Options
from .react import WAITS, caller_tool, tool_of
from .step_predictor import StepPredictor

SUBMIT = "submit"


def react_v2(module: Any, options: Options) -> Leaf:
    """The node of an agent. `history` and `termination_reason` are no outputs of it."""
    own = {name: tool for name, tool in module.tools.items() if name != SUBMIT}
    tools = [caller_tool(name, tool, options) or tool_of(name, tool, options, WAITS) for name, tool in own.items()]
    fresh = dspy.ReActV2(module.signature, list(own.values()), module.max_iters)
    predictor = StepPredictor(module.react, module.signature)
    inner = [Inner("react", "action", predictor, str(fresh.react.signature.instructions))]
    outputs = {name: info.annotation for name, info in module.signature.output_fields.items()}
    config = {"tools": tools, "max_iters": module.max_iters, "turns": True, "submit": True}
    return Leaf("react", module.signature, outputs, inner, config, without=("history", "max_iters"))


KINDS[dspy.ReActV2.forward] = react_v2
