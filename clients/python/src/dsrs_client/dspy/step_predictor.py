"""The predictor of `dspy.ReActV2` with the fields of the server's `action`: a demo is one step of an agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Optional

import dspy
from pydantic_core import to_jsonable_python

NO_STEPS = "(no steps yet)"
#: what the server adds to the inputs, and what it has in place of a thought and calls
ADDED = ("trajectory", "next_thought", "next_tool_name", "next_tool_args", "more_tool_calls")


class StepPredictor:
    """Reads and writes the state of a predictor of DSPy."""

    def __init__(self, predictor: Any, signature: Any) -> None:
        self.of, self._inputs = predictor, dict(signature.input_fields)

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the predictor."""
        return dict(self.of.config)

    @property
    def lm(self) -> Any:
        """Its model."""
        return self.of.lm

    @property
    def signature(self) -> Any:
        """The inputs of the agent and the steps so far, to a thought and calls."""
        fields: dict[str, Any] = {name: (info.annotation, info) for name, info in self._inputs.items()}
        trajectory, thought, name, args, more = ADDED
        fields[trajectory] = (str, dspy.InputField())
        fields[thought] = (str, dspy.OutputField())
        fields[name] = (str, dspy.OutputField())
        fields[args] = (Optional[dict[str, Any]], dspy.OutputField())
        fields[more] = (Optional[list[dict[str, Any]]], dspy.OutputField())
        return dspy.Signature(fields, self.of.signature.instructions)

    @signature.setter
    def signature(self, signature: Any) -> None:
        self.of.signature = self.of.signature.with_instructions(signature.instructions)

    @property
    def demos(self) -> list[Any]:
        """The demos that make a call, as steps."""
        return [step for demo in self.of.demos if (step := _step(demo, list(self._inputs))) is not None]

    @demos.setter
    def demos(self, demos: list[Any]) -> None:
        """The steps before a demo are a text on the server, which is no history of DSPy: they are left out."""
        self.of.demos = [_demo(demo, list(self._inputs)) for demo in demos]


def _step(demo: Any, inputs: list[str]) -> Any:
    """A demo of DSPy with the fields of the server."""
    calls = _calls(demo.get("tool_calls"))
    if not calls:
        return None
    events = _before(_events(demo.get("history")), calls)
    given = {name: _given(name, demo, events) for name in inputs}
    more = [{"name": call["name"], "args": call["args"]} for call in calls[1:]]
    thought = demo.get("next_thought")
    return dspy.Example(
        **{name: value for name, value in given.items() if value is not None},
        trajectory=_trajectory(events),
        next_thought="" if thought is None else _text(thought),
        next_tool_name=calls[0]["name"],
        next_tool_args=calls[0]["args"],
        more_tool_calls=more or None,
    ).with_inputs(*inputs, "trajectory")


def _given(name: str, demo: Any, events: list[dict[str, Any]]) -> Any:
    """An input: DSPy has it in the first event of the history only."""
    value = demo.get(name)
    return value if value is not None or not events else events[0].get(name)


def _demo(step: Any, inputs: list[str]) -> Any:
    """A step as a demo of DSPy."""
    first = {"name": step.get("next_tool_name"), "args": step.get("next_tool_args") or {}}
    more = [{"name": call["name"], "args": call.get("args") or {}} for call in step.get("more_tool_calls") or []]
    given = {name: step[name] for name in inputs if name in step}
    return dspy.Example(
        **given,
        next_thought=step.get("next_thought") or "",
        tool_calls=dspy.ToolCalls.from_dict_list([first, *more]),
    ).with_inputs(*given)


def _calls(value: Any) -> list[dict[str, Any]]:
    """The calls with their results, of an object or of a saved file."""
    data = to_jsonable_python(value) if value is not None else {}
    if isinstance(data, list):
        return [{"name": call["name"], "args": call.get("args") or {}} for call in data]
    calls = data.get("tool_calls") or []
    results = _results(value, data)
    return [
        {"name": call["name"], "args": call.get("args") or {}, **({"result": results[at]} if at < len(results) else {})}
        for at, call in enumerate(calls)
    ]


def _results(value: Any, data: dict[str, Any]) -> list[Any]:
    given = getattr(value, "tool_call_results", None) or data.get("tool_call_results") or {}
    given = getattr(given, "tool_call_results", None) or (given.get("tool_call_results") if _is_dict(given) else None)
    return [result["value"] if _is_dict(result) else result.value for result in given or []]


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _events(history: Any) -> list[dict[str, Any]]:
    """The turns of a history, of an object or of a saved file."""
    messages = history.get("messages") if isinstance(history, dict) else getattr(history, "messages", None)
    return list(messages or [])


def _before(events: list[dict[str, Any]], calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events before the one with these calls: DSPy's demos share the history as it is at the end of the run."""
    wanted = [(call["name"], call["args"]) for call in calls]
    for at, event in enumerate(events):
        if [(call["name"], call["args"]) for call in _calls(event.get("tool_calls"))] == wanted:
            return events[:at]
    return events


def _trajectory(events: list[dict[str, Any]]) -> str:
    """The steps as the server writes them."""
    steps = [f"Step {number}\n" + "\n".join(_lines(event)) for number, event in enumerate(events, 1)]
    return "\n\n".join(steps) or NO_STEPS


def _lines(event: dict[str, Any]) -> Iterator[str]:
    yield _line("thought", _text(event.get("next_thought") or ""))
    for call in _calls(event.get("tool_calls")):
        yield _line("call", f"{call['name']} {_json(call['args'])}")
        if "result" in call:
            yield _line("result", _text(call["result"]))


def _line(label: str, text: str) -> str:
    return f"{label}:{chr(10) if chr(10) in text else ' '}{text}".rstrip()


def _text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    if isinstance(value, dspy.Reasoning):
        return str(value.content)
    if isinstance(value, dict) and set(value) == {"content"}:
        return str(value["content"])
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(to_jsonable_python(value), ensure_ascii=False, separators=(",", ":"))
