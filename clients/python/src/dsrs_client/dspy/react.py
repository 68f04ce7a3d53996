"""`dspy.ReAct`: its tools are tools of the server (`tools=`), or stay with the caller of the run (`outside=`)."""

from __future__ import annotations

from typing import Any

import dspy

from .draft import Draft
from .leaf import KINDS, Inner, Leaf
from .options import Options
from .refusal import CannotPush, Reason, refuse

#: the other way out for an agent, whose run may wait
WAITS = ", or let the caller answer it: `outside={{'{name}': str}}`."


def react(module: Any, options: Options) -> Leaf:
    """The node of an agent."""
    own = {name: tool for name, tool in module.tools.items() if name != "finish"}
    tools = [caller_tool(name, tool, options) or tool_of(name, tool, options, WAITS) for name, tool in own.items()]
    fresh = dspy.ReAct(module.signature, list(own.values()), module.max_iters)
    extract = module.extract.predict
    inner = [
        Inner("react", "action", module.react, str(fresh.react.signature.instructions)),
        Inner("extract.predict", "extract.predict", extract, str(fresh.extract.predict.signature.instructions)),
    ]
    outputs = {name: info.annotation for name, info in module.signature.output_fields.items()}
    return Leaf("react", module.signature, outputs, inner, {"tools": tools, "max_iters": module.max_iters})


def caller_tool(name: str, tool: Any, options: Options) -> dict[str, Any] | None:
    """The tool if it stays with the caller: the run waits for its results."""
    if name not in options.outside or name in options.tools:
        return None
    description = {"description": tool.desc or f"The function {name}."}
    return {"caller": {"name": name, **description, "arguments": _arguments(tool)}}


def refuse_other_functions(draft: Draft) -> None:
    """Refuses tools of the caller that have one name and are not alike: `functions=` has one function of each name."""
    known: dict[str, Any] = {}
    for node, body in draft.nodes.items():
        tools = (body.get("config") or {}).get("tools") or []
        for tool in (tool["caller"] for tool in tools if isinstance(tool, dict) and "caller" in tool):
            if known.setdefault(tool["name"], tool) != tool:
                what = f"has several tools `{tool['name']}` that stay with the caller and are not alike"
                raise CannotPush([Reason(draft.places.get(node), what, "Give each a name of its own.")])


def tool_of(name: str, tool: Any, options: Options, otherwise: str = ".") -> Any:
    """The server's tool, with the name, description and arguments of the function where it has none."""
    if name not in options.tools:
        refuse(
            f"the tool `{name}` is a Python function, which a graph cannot call",
            f"Name a tool of the server: `tools={{{name!r}: {{'http': {{'method': 'GET', 'url': '…'}}}}}}` "
            f"(docs/tools.md){otherwise.format(name=name)}",
        )
    given = options.tools[name]
    if not isinstance(given, dict):
        return given
    if "http" in given:
        return {"http": {"name": name, **_description(tool), "arguments": _arguments(tool), **given["http"]}}
    return {**_description(tool), **given} if "graph" in given else given


def _description(tool: Any) -> dict[str, str]:
    return {"description": tool.desc} if tool.desc else {}


def _arguments(tool: Any) -> dict[str, Any]:
    required = [name for name, schema in tool.args.items() if "default" not in schema]
    return {"type": "object", "properties": tool.args, "required": required, "additionalProperties": False}


KINDS[dspy.ReAct.forward] = react
