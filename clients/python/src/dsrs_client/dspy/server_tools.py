"""Functions that the server calls: a `call` node of the tool that `tools=` names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import dspy

from .annotation import schema_of
from .catching import refuse_caught
from .contents import holds_value
from .draft import Draft
from .json_value import to_json
from .leaf import Leaf
from .outside import arguments_of, called_of, name_of, signature_of_call
from .record import record
from .refusal import refuse

RESULT = "result"
#: what an entry of `tools=` says about the result, beside the tool
OF_RESULT = ("select", "returns", "cache_seconds")


class ServerTools:
    """The functions that are tools of the server."""

    def __init__(self, draft: Callable[[], Draft], tools: Mapping[str, Any]) -> None:
        self.draft, self.tools = draft, tools

    def stand_in(self, function: Any) -> Callable[..., Any] | None:
        """What a trace calls in place of a function, if the server calls it."""
        name = name_of(function)
        if name not in self.tools:
            return None
        entry = self.tools[name]

        def call(*positional: Any, **named: Any) -> Any:
            given, kinds = arguments_of(function, positional, named)
            returned, member = _returned(function, entry)
            fed = {key: value for key, value in given.items() if holds_value(value)}
            constants = {key: to_json(value) for key, value in given.items() if key not in fed}
            config = _config(function, name, entry, returned, constants)
            kinds = {key: kinds[key] for key in fed}
            outputs = {RESULT: returned}
            leaf = Leaf("call", signature_of_call(name, kinds, outputs), outputs, [], config, declares=False)
            refuse_caught(f"`{name}`")
            answer = record(self.draft(), name, name, leaf, fed, {})
            return dspy.Prediction(**{member: answer[RESULT]}) if member else answer[RESULT]

        return call


def _returned(function: Any, entry: Any) -> tuple[Any, str | None]:
    """The type of the result, and the member of the prediction that has it."""
    returned = entry.get("returns") if isinstance(entry, Mapping) else None
    if isinstance(returned, Mapping):
        if len(returned) != 1:
            refuse(f"`{name_of(function)}` returns {len(returned)} members; a call has one result", "Select one.")
        [(member, kind)] = returned.items()
        return kind, str(member)
    if returned is None:
        returned = inspect.get_annotations(called_of(function), eval_str=True).get("return")
    if returned is None or returned is dspy.Prediction:
        refuse(
            f"the function `{name_of(function)}` does not say what it returns",
            f"Annotate it, or name the type: `tools={{{name_of(function)!r}: {{'returns': list[str], …}}}}`.",
        )
    return returned, None


def _config(function: Any, name: str, entry: Any, returned: Any, constants: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {"tool": _tool(function, name, entry), "output": schema_of(returned)}
    if isinstance(entry, Mapping):
        config |= {key: entry[key] for key in OF_RESULT if key in entry and key != "returns"}
    if constants:
        config["arguments"] = constants
    return config


def _tool(function: Any, name: str, entry: Any) -> Any:
    """The server's tool, with the name, description and arguments of the function where it has none."""
    if not isinstance(entry, Mapping):
        return entry
    tool = {key: value for key, value in entry.items() if key not in OF_RESULT}
    if "http" not in tool:
        return tool
    described = dspy.Tool(called_of(function), name=name)
    required = [key for key, schema in described.args.items() if "default" not in schema]
    arguments = {"type": "object", "properties": described.args, "required": required}
    description = described.desc or f"The function {name}."
    return {**tool, "http": {"name": name, "description": description, "arguments": arguments, **tool["http"]}}
