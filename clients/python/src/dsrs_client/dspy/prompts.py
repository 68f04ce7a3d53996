"""Compares the prompt of each predictor with what the DSPy program puts into it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .definition import holds_nodes, sample_inputs
from .draft import Bound, Draft
from .evidence import description, outputs_of
from .server import Server
from .state import predictor_state


class PromptsDiffer(Exception):
    """A prompt lacks something that the program has. ``differences`` lists what, by path."""

    def __init__(self, differences: dict[str, list[str]]) -> None:
        lines = [f"{path}: {what}" for path, found in differences.items() for what in found]
        super().__init__("\n".join(lines))
        self.differences = differences


def check_prompts(server: Server, name: str, graph: dict[str, Any], draft: Draft) -> int:
    """Checks all predictors; returns how many of them the server rendered as messages."""
    shown = {item["path"]: item for item in server.predictors(name)}
    rendered: dict[str, list[dict[str, Any]]] = {}
    for node in dict.fromkeys(item.node for item in draft.bound):
        if holds_nodes(graph["nodes"][node]):
            continue  # what runs in it depends on the run
        rendered |= server.render(name, node, sample_inputs(graph["nodes"][node], graph["types"]))
    differences = {
        item.path: list(_differences(item, shown[item.path], rendered.get(item.path))) for item in draft.bound
    }
    if found := {path: what for path, what in differences.items() if what}:
        raise PromptsDiffer(found)
    return len([item for item in draft.bound if item.path in rendered])


def _differences(item: Bound, shown: dict[str, Any], messages: list[dict[str, Any]] | None) -> Iterator[str]:
    yield from _in_schema(item, shown)
    if messages is not None:
        yield from _in_messages(item, messages)


def _in_schema(item: Bound, shown: dict[str, Any]) -> Iterator[str]:
    """Fields in their order, descriptions, the instruction and the demos, as the server keeps them."""
    signature, state = item.predictor.signature, predictor_state(item)
    called = outputs_of(item.predictor)
    for side, given in (("inputs", signature.input_fields), ("outputs", signature.output_fields)):
        fields = {called.get(name, name) if side == "outputs" else name: name for name in given}
        there = [field["name"] for field in shown["schema"][side]]
        if [name for name in there if name in fields] != list(fields):
            yield f"has the {side} {', '.join(there)} instead of {', '.join(fields)}"
        described = {field["name"]: field.get("description") for field in shown["schema"][side]}
        for name, own in fields.items():
            text = description(item.predictor, own)
            if text is not None and item.generated is None and text not in (described.get(name) or ""):
                yield f"describes `{name}` as {described.get(name)!r} instead of {text!r}"
    if "instruction" in state and shown["effective_instruction"] != state["instruction"]:
        yield f"has the instruction {shown['effective_instruction']!r} instead of {state['instruction']!r}"
    if shown.get("decisions", {}) != state.get("decisions", {}):
        yield f"has the rules {shown.get('decisions')!r} instead of {state.get('decisions')!r}"
    if shown.get("demos", []) != state["demos"]:
        yield f"has {len(shown.get('demos', []))} demos that differ from the {len(state['demos'])} of the program"


def _in_messages(item: Bound, messages: list[dict[str, Any]]) -> Iterator[str]:
    """The same in the messages that the model receives."""
    system, signature, state = _text(messages[0]), item.predictor.signature, predictor_state(item)
    for name in signature.fields:
        if f"`{name}`" not in system:
            yield f"does not list the field `{name}`"
        text = description(item.predictor, name)
        if text is not None and item.generated is None and text not in system:
            yield f"does not describe `{name}`: {text!r}"
    instruction = state.get("instruction")
    if instruction and instruction.strip() not in system:
        yield f"lacks the instruction {instruction!r}"
    turns = [(_text(messages[at]), _text(messages[at + 1])) for at in range(1, len(messages) - 2, 2)]
    if len(turns) != len(state["demos"]):
        yield f"shows {len(turns)} demos instead of {len(state['demos'])}"
        return
    for number, (demo, turn) in enumerate(zip(state["demos"], turns, strict=True), 1):
        for side, text in zip(("input", "output"), turn, strict=True):
            missing = [name for name, value in demo[side].items() if not _is_in(value, text)]
            if missing:
                yield f"shows demo {number} without its {', '.join(missing)}"


def _is_in(value: Any, text: str) -> bool:
    """Whether a value is in the text: a text as it is, anything else as JSON in any spacing."""
    if isinstance(value, str):
        return value.strip() in text
    return _dense(json.dumps(value, ensure_ascii=False)) in _dense(text)


def _dense(text: str) -> str:
    return "".join(text.split())


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
