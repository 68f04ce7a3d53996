"""The programs of `examples/dspy`: equal outputs and equal requests in DSPy and on the server, where they are evaluated
and optimized."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import dspy
import pytest
from alike import assert_alike

from dsrs_client import Client, Problem
from dsrs_client.dspy import Pushed, pull, push

EXAMPLES = Path(__file__).parents[4] / "examples" / "dspy"
sys.path.insert(0, str(EXAMPLES))


@pytest.fixture
def handbook(client: Client) -> None:
    """The index that the retrieving programs search."""
    passages = importlib.import_module("rag").PASSAGES
    examples = [{"id": key, "inputs": {"text": text}} for key, text in passages.items()]
    try:
        client.request("POST", "/v1/datasets", {"name": "handbook-pages", "examples": examples})
        client.request("POST", "/v1/indexes", {"name": "handbook", "dataset": "handbook-pages"})
    except Problem as problem:
        assert problem.code == "already_exists", problem
    ended(client, "/v1/indexes/handbook", lambda index: index["passages"] > 0)


def ended(client: Client, path: str, has_ended: Any) -> dict[str, Any]:
    """What a path answers once it has ended."""
    while True:
        found: dict[str, Any] = client.request("GET", path)
        if has_ended(found):
            return found
        time.sleep(0.05)


def job(client: Client, graph: str, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """A job of a graph, once it has ended."""
    started = client.request("POST", f"/v1/graphs/{graph}/{kind}", body)
    return ended(client, f"/v1/{kind}/{started['id']}", lambda found: found["finished_at"])


def dataset(client: Client, name: str, module: Any, endings: tuple[str, ...] = ("",)) -> str:
    """The examples of a program as a dataset: each once for each ending of its texts."""
    examples = [
        {"inputs": {key: f"{text}{ending}" for key, text in inputs.items()}, "expected": expected}
        for inputs, expected in module.EXAMPLES
        for ending in endings
    ]
    client.request("POST", "/v1/datasets", {"name": name, "examples": examples})
    return name


def score_in_dspy(module: Any, program: Any, lm: dspy.LM) -> tuple[float, int]:
    """The mean score of the examples in DSPy, and the number of requests to the model."""
    before, exact = len(lm.history), 0
    for inputs, expected in module.EXAMPLES:
        answer = program(**inputs).toDict()
        exact += all(answer[key] == value for key, value in expected.items())
    return exact / len(module.EXAMPLES), len(lm.history) - before


@pytest.mark.parametrize("example", ["rag", "multi_hop", "router", "outline"])
def test_an_example_is_the_same_on_the_server_and_is_evaluated_and_optimized_there(
    example: str, client: Client, name: str, lm: dspy.LM, handbook: None
) -> None:
    module = importlib.import_module(example)
    program = module.PROGRAM()
    pushed: Pushed = push(program, name, client=client, tools=module.TOOLS)
    assert not any(node["strategy"] == "await" for node in pushed.graph["nodes"].values())
    for inputs, _ in module.EXAMPLES:
        assert_alike(client, program, pushed, inputs)
    evaluated_and_optimized(client, name, module, program, lm)


def test_a_question_about_a_book_is_answered_without_the_book_in_a_prompt(
    client: Client, name: str, lm: dspy.LM
) -> None:
    module = importlib.import_module("long_text")
    program = module.PROGRAM()
    pushed = push(program, name, client=client)
    inputs, expected = module.EXAMPLES[0]
    assert len(inputs["document"]) > 500_000
    body = {"inputs": inputs, "trace": True}
    run = client.request("POST", f"/v1/graphs/{name}/execute", body)
    assert run["outputs"] == expected
    prompts = [span["messages"] for span in run["trace"]["spans"] if span["kind"] == "lm"]
    assert prompts and max(len(str(prompt)) for prompt in prompts) < 20_000
    with dspy.context(interpreter_factory=dspy.LocalInterpreter):
        assert program(**inputs).toDict() == expected
        asked = len(program.read.generate_action.history)
        assert run["usage"]["lm_calls"] == asked == 1
        evaluated_and_optimized(client, name, module, program, lm)
    assert pushed.paths["read.generate_action"] == ["read.generate_action"]


def evaluated_and_optimized(client: Client, name: str, module: Any, program: Any, lm: dspy.LM) -> None:
    """An evaluation has the score and the requests of DSPy; an optimization ends, and its state fits the program."""
    examples = dataset(client, name, module)
    evaluation = job(client, name, "evaluations", {"dataset": examples, "metric": "exact"})
    assert evaluation["status"] == "succeeded", evaluation
    mean, calls = score_in_dspy(module, program, lm)
    assert evaluation["mean_score"] == mean == 1.0
    assert evaluation["usage"]["lm_calls"] == calls
    many = dataset(client, f"{name}-many", module, ("", " ", "  ", "   "))
    body = {"optimizer": "bootstrap_few_shot", "trainset": many, "metric": "exact"}
    optimization = job(client, name, "optimizations", body)
    assert optimization["status"] == "succeeded", optimization
    optimized = pull(module.PROGRAM(), name, client=client, tools=module.TOOLS)
    assert [key for key, _ in optimized.named_predictors()] == [key for key, _ in program.named_predictors()]
