"""`dspy.RLM` and `dspy.CodeAct`: their programs run in the sandbox of the server, with tools that the caller names."""

from __future__ import annotations

from typing import Any

import dspy

from .leaf import KINDS, Inner, Leaf
from .options import Options
from .react import tool_of
from .refusal import refuse


def rlm(module: Any, options: Options) -> Leaf:
    """The node of a recursive language model; its outputs are those of the signature."""
    limits = {name: getattr(module, name) for name in ("max_iters", "max_llm_calls", "max_output_chars")}
    config: dict[str, Any] = dict(limits)
    if module.tools:
        config["tools"] = [tool_of(name, tool, options) for name, tool in module.tools.items()]
    if module.sub_lm is not None:
        config["sub_lm"] = _alias(module.sub_lm, options)
    fresh = dspy.RLM(module.signature, **limits, tools=list(module.tools.values()))
    names = ("generate_action", "extract")
    inner = [Inner(name, name, getattr(module, name), _generated(getattr(fresh, name))) for name in names]
    return Leaf("rlm", module.signature, _outputs(module), inner, config)


def code_act(module: Any, options: Options) -> Leaf:
    """The node of an agent that acts by programs."""
    tools = [tool_of(name, tool, options) for name, tool in module.tools.items()]
    fresh = dspy.CodeAct(module.signature, list(module.tools.values()), module.max_iters)
    extract = "extractor.predict"
    inner = [
        Inner("codeact", "codeact", module.codeact, _generated(fresh.codeact)),
        Inner(extract, extract, module.extractor.predict, _generated(fresh.extractor.predict)),
    ]
    config = {"tools": tools, "max_iters": module.max_iters}
    return Leaf("code_act", module.signature, _outputs(module), inner, config)


def _outputs(module: Any) -> dict[str, Any]:
    return {name: info.annotation for name, info in module.signature.output_fields.items()}


def _generated(predictor: Any) -> str:
    return str(predictor.signature.instructions)


def _alias(lm: Any, options: Options) -> str:
    """The alias of the model that answers the prompts of programs."""
    model = str(getattr(lm, "model", lm))
    if model not in options.models:
        refuse(
            f"asks the model `{model}` by `sub_lm`, whose alias on the server is not known",
            f"Say which it is: `models={{{model!r}: 'default'}}`.",
        )
    return str(options.models[model])


KINDS[dspy.RLM.forward] = rlm
KINDS[dspy.CodeAct.forward] = code_act
