"""Agents in turns beside DSPy's `ReActV2` over the same LM: equal outputs, calls and numbers of requests."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import json
import warnings
from typing import Any

import dspy
import pytest

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, pull, push

QUESTION = "Please compute 6 * 7001."
TOOLS = {"calculator": "calculator"}


def calculator(expression: str) -> int:
    """Computes."""
    left, sign, right = expression.split()
    return int(left) * int(right) if sign == "*" else int(left) + int(right)


def agent(max_iters: int = 5) -> Any:
    """DSPy's module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dspy.ReActV2("question -> answer", tools=[calculator], max_iters=max_iters)


def execute(client: Client, name: str, question: str = QUESTION) -> dict[str, Any]:
    """A run with its trace."""
    run = client.request("POST", f"/v1/graphs/{name}/execute", {"inputs": {"question": question}})
    found: dict[str, Any] = client.request("GET", f"/v1/runs/{run['id']}")
    return found


def sent(run: dict[str, Any]) -> list[Any]:
    """The messages of the last request to the model."""
    requests = [span for span in run["trace"]["spans"] if span["kind"] == "lm"]
    messages: list[Any] = requests[-1]["messages"]
    return messages


def of_steps(messages: list[Any]) -> list[Any]:
    """The calls of each turn and the results, without ids."""
    turns: list[Any] = []
    for message in messages:
        if message.get("tool_calls"):
            calls = [call["function"] for call in message["tool_calls"]]
            turns.append([(call["name"], json.loads(call["arguments"])) for call in calls])
        elif message["role"] == "tool":
            turns.append(str(message["content"]))
    return turns


def native(client: Client, lm_url: str, name: str, max_iters: int) -> tuple[dict[str, Any], dspy.LM, Any]:
    """A run on the server and one in DSPy, both with native tool calls."""
    lm = dspy.LM("openai/gpt-4o", api_base=lm_url, api_key="none", cache=False)
    program = agent(max_iters)
    with dspy.context(lm=lm):
        pushed = push(program, name, client=client, tools=TOOLS, models={"openai/gpt-4o": "native"})
        assert pushed.graph["nodes"]["re_act_v2"]["lm"] == {"model": "native"}
    run = execute(client, name)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_native_function_calling=True)):
        prediction = program(question=QUESTION)
    assert run["outputs"] == {"answer": prediction.answer}
    assert run["usage"]["lm_calls"] == len(lm.history)
    return run, lm, prediction


def test_steps_are_the_turns_of_a_model_that_calls_tools(client: Client, lm_url: str, name: str) -> None:
    run, lm, prediction = native(client, lm_url, name, max_iters=5)
    assert run["outputs"] == {"answer": "42006"} and prediction.termination_reason == "submit"
    ours = sent(run)
    assert of_steps(ours) == of_steps(lm.history[-1]["messages"])
    assert [message["role"] for message in ours] == ["system", "user", "assistant", "tool", "tool"]
    calls, results = ours[2]["tool_calls"], ours[3:]
    assert [call["id"] for call in calls] == [result["tool_call_id"] for result in results]


def test_after_the_last_step_the_outputs_are_submitted(client: Client, lm_url: str, name: str) -> None:
    run, lm, prediction = native(client, lm_url, name, max_iters=1)
    assert run["usage"]["lm_calls"] == 2 and prediction.termination_reason == "forced_submit"
    assert of_steps(sent(run)) == of_steps(lm.history[-1]["messages"])


def test_a_model_without_native_calls_takes_the_same_steps_as_text(client: Client, name: str, lm: dspy.LM) -> None:
    program = agent()
    pushed = push(program, name, client=client, tools=TOOLS)
    assert pushed.paths == {"react": ["re_act_v2.action"]} and pushed.notes == []
    config = pushed.graph["nodes"]["re_act_v2"]["config"]
    assert config == {"tools": ["calculator"], "max_iters": 5, "turns": True, "submit": True}
    run = execute(client, name)
    assert run["outputs"] == {"answer": program(question=QUESTION).answer} == {"answer": "42006"}
    assert run["usage"]["lm_calls"] == len(lm.history) == 2


def optimized() -> Any:
    """An agent with an instruction and a demo of its second step, as an optimizer sets them."""
    program = agent()
    calls = dspy.ToolCalls.from_dict_list([{"name": "calculator", "args": {"expression": "2 * 3"}}])
    results = {"tool_call_results": [{"call_id": None, "name": "calculator", "value": 6, "is_error": False}]}
    made = {**calls.model_dump(), "tool_call_results": results}
    first = {"question": "2 * 3?", "next_thought": "I compute.", "tool_calls": made}
    submitted = dspy.ToolCalls.from_dict_list([{"name": "submit", "args": {"answer": "6"}}])
    last = {"next_thought": "Done.", "tool_calls": submitted}
    history = dspy.History(messages=[first, last])
    react = program.react
    react.signature = react.signature.with_instructions("Compute, then submit.")
    react.demos = [dspy.Example(history=history, next_thought=dspy.Reasoning(content="Done."), tool_calls=submitted)]
    return program


def test_the_state_of_its_predictor_is_carried_over_and_back(client: Client, name: str) -> None:
    push(optimized(), name, client=client, tools=TOOLS)
    [action, extract] = client.request("GET", f"/v1/graphs/{name}/predictors")["items"]
    assert action["path"] == "re_act_v2.action" and action["effective_instruction"] == "Compute, then submit."
    [demo] = action["demos"]
    assert demo["input"] == {
        "question": "2 * 3?",
        "trajectory": 'Step 1\nthought: I compute.\ncall: calculator {"expression":"2 * 3"}\nresult: 6',
    }
    assert demo["output"] == {
        "next_thought": "Done.", "next_tool_name": "submit", "next_tool_args": {"answer": "6"},
    }  # fmt: skip
    assert extract["path"] == "re_act_v2.extract.predict"

    pulled = pull(agent(), name, client=client, tools=TOOLS)
    assert pulled.react.signature.instructions == "Compute, then submit."
    [back] = pulled.react.demos
    assert back.question == "2 * 3?" and back.tool_calls.tool_calls[0].args == {"answer": "6"}


def test_a_history_of_a_call_is_refused() -> None:
    class Continues(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.agent = agent()

        def forward(self, question: str) -> Any:
            return self.agent(question=question, history=dspy.History(messages=[]))

    with pytest.raises(CannotPush) as refusal:
        graph_of(Continues(), "continues", tools=TOOLS)
    assert refusal.value.reasons[0].what == "gives an agent `history` for one call, which a node does not have"
