"""Modules whose LM writes programs run in the sandbox of the server."""

from __future__ import annotations

import warnings
from typing import Any

import dspy
import pytest
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


def lookup(name: str) -> str:
    """Finds a person."""
    return name


def code_act(**options: Any) -> dspy.CodeAct:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dspy.CodeAct("question -> answer", tools=[lookup], **options)


TOOLS = {"lookup": "calculator"}


def test_a_recursive_language_model_reads_its_inputs_in_the_sandbox_of_the_server(
    client: Client, run: Run, name: str
) -> None:
    pushed = push(dspy.RLM("document, question -> answer", max_iters=3, max_llm_calls=7), name, client=client)
    node = pushed.graph["nodes"]["rlm"]
    assert node["config"] == {"max_iters": 3, "max_llm_calls": 7, "max_output_chars": 10000}
    assert pushed.paths == {"generate_action": ["rlm.generate_action"], "extract": ["rlm.extract"]}
    assert run(name, {"document": "lima", "question": "Where?"}) == {"answer": "LIMA"}
    # The instruction that DSPy generates is left to the graph.
    state = client.request("GET", f"/v1/graphs/{name}/state")
    assert state["predictors"]["rlm.generate_action"]["instruction"] is None


def test_an_optimized_instruction_of_a_recursive_language_model_is_state(client: Client, run: Run, name: str) -> None:
    program = dspy.RLM("document, question -> answer")
    action = program.generate_action
    action.signature = action.signature.with_instructions(action.signature.instructions + "\nBe brief.")
    push(program, name, client=client)
    state = client.request("GET", f"/v1/graphs/{name}/state")
    assert state["predictors"]["rlm.generate_action"]["instruction"].endswith("Be brief.")
    assert run(name, {"document": "lima", "question": "Where?"}) == {"answer": "LIMA"}


def test_tools_and_the_model_of_prompts_are_those_of_the_server() -> None:
    program = dspy.RLM("document -> answer", tools=[lookup], sub_lm=dspy.LM("openai/small"))
    graph = graph_of(program, "tools", tools=TOOLS, models={"openai/small": "default"})
    config = graph["nodes"]["rlm"]["config"]
    assert config["tools"] == ["calculator"] and config["sub_lm"] == "default"
    with pytest.raises(CannotPush, match="asks the model `openai/small` by `sub_lm`"):
        graph_of(program, "tools", tools=TOOLS)
    with pytest.raises(CannotPush, match="the tool `lookup` is a Python function"):
        graph_of(program, "tools", models={"openai/small": "default"})


def test_code_act_calls_tools_of_the_server(client: Client, run: Run, name: str) -> None:
    pushed = push(code_act(max_iters=4), name, client=client, tools=TOOLS)
    assert pushed.graph["nodes"]["code_act"]["config"] == {"tools": ["calculator"], "max_iters": 4}
    assert set(pushed.paths) == {"codeact", "extractor.predict"}
    assert run(name, {"question": "Capital of Peru?"}) == {"answer": "Lima"}
