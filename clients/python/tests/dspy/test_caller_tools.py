"""Agents whose tools are Python functions: the run waits, and the caller answers their calls."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any

import dspy
import pytest
from pydantic import BaseModel

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, Remote, answer, graph_of, push

QUESTION = "Look it up: what is a hound?"
OUTSIDE = {"look_up": str}


class Word(BaseModel):
    """What to look up."""

    text: str


CALLS: list[Word] = []


def look_up(word: Word) -> str:
    """Looks a word up."""
    CALLS.append(word)
    return f"found: a {word.text} is a dog"


def fails(word: Word) -> str:
    """Looks a word up, and cannot."""
    raise RuntimeError(f"found: no {word.text}")


def agent() -> Any:
    """An agent with one tool of its own."""
    return dspy.ReAct("question -> answer", tools=[look_up], max_iters=4)


def observations(run: dict[str, Any]) -> list[Any]:
    """What the tools of a run returned, or why they failed."""
    spans = [span for span in run["trace"]["spans"] if span["kind"] == "tool"]
    return [span["outputs"]["result"] if "outputs" in span else span["error"] for span in spans]


def test_a_function_in_outside_is_a_tool_of_the_caller() -> None:
    [node] = graph_of(agent(), "agent", outside=OUTSIDE)["nodes"].values()
    [tool] = node["config"]["tools"]
    assert (tool["caller"]["name"], tool["caller"]["description"]) == ("look_up", "Looks a word up.")
    assert tool["caller"]["arguments"]["required"] == ["word"]


def test_the_agent_runs_as_in_dspy(client: Client, name: str, lm: dspy.LM) -> None:
    CALLS.clear()
    program = agent()
    expected = program(question=QUESTION)
    assert [call.text for call in CALLS] == ["hound"]
    push(program, name, client=client, outside=OUTSIDE)
    run = answer(name, {"question": QUESTION}, {"look_up": look_up}, client=client)
    assert run["outputs"] == {"answer": expected.answer}
    assert [call.text for call in CALLS] == ["hound"] * 2, "the arguments have their types"
    assert run["usage"]["lm_calls"] == len(lm.history)
    assert observations(run) == [expected.trajectory["observation_0"]]


def test_the_model_reads_the_exception_of_a_tool(client: Client, name: str) -> None:
    push(agent(), name, client=client, outside=OUTSIDE)
    run = answer(name, {"question": QUESTION}, {"look_up": fails}, client=client)
    assert run["status"] == "succeeded"
    assert observations(run) == ["RuntimeError: found: no hound"]


def test_a_remote_agent_is_evaluated(client: Client, name: str) -> None:
    push(agent(), name, client=client, outside=OUTSIDE)
    remote = Remote(name, client=client, functions={"look_up": look_up})
    examples = [dspy.Example(question=QUESTION).with_inputs("question") for _ in range(4)]
    CALLS.clear()

    def answers(example: Any, prediction: Any, trace: Any = None) -> bool:
        return bool(prediction.answer)

    result = dspy.Evaluate(devset=examples, metric=answers, num_threads=2)(remote)
    assert (result.score, len(CALLS)) == (100.0, 4)


def test_an_async_tool_is_called(client: Client, name: str) -> None:
    async def look_up_later(word: Word) -> str:
        return f"found: {word.text}, later"

    push(agent(), name, client=client, outside=OUTSIDE)
    run = answer(name, {"question": QUESTION}, {"look_up": look_up_later}, client=client)
    assert observations(run) == ["found: hound, later"]


def test_a_tool_without_a_function_is_named(client: Client, name: str) -> None:
    push(agent(), name, client=client, outside=OUTSIDE)
    with pytest.raises(LookupError, match="waits for the tool `look_up`"):
        answer(name, {"question": QUESTION}, {}, client=client)


def test_an_agent_of_the_caller_is_no_part_of_a_decision() -> None:
    class Decides(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = dspy.Predict("question -> sure: bool")
            self.work = agent()

        def forward(self, question: str) -> Any:
            if self.first(question=question).sure:
                return dspy.Prediction(answer=self.work(question=question).answer)
            return dspy.Prediction(answer="unsure")

    with pytest.raises(CannotPush, match="waits for the caller by `work`"):
        graph_of(Decides(), "g", outside=OUTSIDE)


def test_programs_in_the_sandbox_cannot_wait() -> None:
    program = dspy.CodeAct("question -> answer", tools=[look_up], max_iters=2)
    with pytest.raises(CannotPush, match="Python function, which a graph cannot call"):
        graph_of(program, "g", outside=OUTSIDE)


@pytest.mark.parametrize(
    "returned", [float("nan"), b"\xff", 10**400, "x" * 5_000_000, {"words": ["a"], 1: Word(text="b")}]
)
def test_any_result_reaches_the_model(returned: Any, client: Client, name: str) -> None:
    push(agent(), name, client=client, outside=OUTSIDE)
    run = answer(name, {"question": QUESTION}, {"look_up": lambda word: returned}, client=client)
    assert run["status"] == "succeeded"


def test_two_functions_of_one_name_are_refused() -> None:
    def search(query: str) -> str:
        """Finds pages."""
        return query

    first, second = search, dspy.Tool(search, name="search", desc="Finds people.")

    class Two(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = dspy.ReAct("question -> answer", tools=[first])
            self.two = dspy.ReAct("question -> name", tools=[second])

        def forward(self, question: str) -> Any:
            return dspy.Prediction(a=self.one(question=question).answer, b=self.two(question=question).name)

    with pytest.raises(CannotPush, match="several tools `search`"):
        graph_of(Two(), "g", outside={"search": str})
