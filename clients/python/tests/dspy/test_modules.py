"""Each kind of module runs as its strategy and answers as in DSPy over the same scripted LM."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import warnings

import dspy
import modules
import pytest
import tutorials
from alike import assert_alike
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import Remote, answer, graph_of, push


def test_classes_enums_and_texts_between_predictors_are_types_selections_and_ops(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    program = modules.Desk()
    pushed = push(program, name, client=client)
    outputs = assert_alike(client, program, pushed, {"letter": "We fly to Lima."})
    assert outputs["text"] == "ADA travels to Lima and Cusco."
    assert outputs["places"] == ["Lima"] and outputs["count"] == 2
    assert pushed.graph["types"]["Person"]["class"]["name"]["description"] == "full name"
    assert pushed.graph["types"]["Mood"]["enum"] == {"calm": None, "angry": None}
    strategies = [node["strategy"] for node in pushed.graph["nodes"].values()]
    assert strategies.count("upper") == 1 and strategies.count("predict") == 1


def test_best_of_n_has_its_reward_as_an_expression(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    program = dspy.BestOfN(dspy.ChainOfThought("question -> answer"), N=3, reward_fn=modules.one_word, threshold=1.0)
    pushed = push(program, name, client=client)
    config = pushed.graph["nodes"]["best_of_n"]["config"]
    assert config["reward"] == {"expression": "(1.0 if (((outputs.answer|split)|length) == 1) else 0.0)"}
    assert config["module"]["strategy"] == "chain_of_thought" and config["n"] == 3 and config["threshold"] == 1.0
    assert pushed.paths == {"module.predict": ["best_of_n.module.predict"]}
    assert run(name, {"question": "Capital of Peru?"}) == program(question="Capital of Peru?").toDict()


def test_refine_has_its_reward_as_an_expression(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    program = dspy.Refine(dspy.Predict("question -> answer"), N=2, reward_fn=modules.graded, threshold=0.5)
    pushed = push(program, name, client=client)
    assert pushed.graph["nodes"]["refine"]["config"]["reward"]["expression"].startswith(
        "(0.0 if ((not outputs.answer) or "
    )
    assert run(name, {"question": "Capital of Peru?"}) == program(question="Capital of Peru?").toDict()


def test_a_reward_of_the_server_takes_the_place_of_the_function(client: Client, name: str) -> None:
    judge = {"judge": {"signature": "question, answer -> score: float", "score": "score"}}
    program = dspy.BestOfN(dspy.Predict("question -> answer"), N=2, reward_fn=modules.one_word, threshold=1.0)
    pushed = push(program, name, client=client, rewards={"one_word": judge})
    assert pushed.graph["nodes"]["best_of_n"]["config"]["reward"]["judge"]["score"] == "score"


def test_a_multi_chain_comparison_reads_the_attempts_as_dspy_writes_them(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    program = modules.Two()
    pushed = push(program, name, client=client)
    assert_alike(client, program, pushed, {"question": "Capital of Peru?"})
    [record] = client.request("GET", f"/v1/runs?graph={name}")["items"]
    spans = client.request("GET", f"/v1/runs/{record['id']}")["trace"]["spans"]
    settle = next(span for span in spans if span["kind"] == "predictor" and span["node"] == "settle")
    attempt = "«I'm trying to Peru has one capital. I'm not sure but my prediction is Lima»"
    assert settle["inputs"]["reasoning_attempt_1"] == attempt == settle["inputs"]["reasoning_attempt_2"]


def test_a_program_of_thought_runs_in_the_sandbox_of_the_server(client: Client, run: Run, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pushed = push(dspy.ProgramOfThought("numbers: list[int] -> total: int"), name, client=client)
    assert set(pushed.paths) == {"code_generate.predict", "code_regenerate.predict", "generate_output.predict"}
    assert run(name, {"numbers": [2, 3, 4]}) == {"total": 9}


def test_an_optimized_program_of_thought_submits_its_result_in_the_sandbox_of_the_server(
    client: Client, run: Run, name: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = dspy.ProgramOfThought("numbers: list[int] -> total: int")
    code = program.code_generate.predict
    assert "SUBMIT" in code.signature.instructions
    code.signature = code.signature.with_instructions(code.signature.instructions + "\nBe brief.")
    code.demos = [dspy.Example(numbers=[1], reasoning="One.", generated_code="SUBMIT({'total': 1})")]
    pushed = push(program, name, client=client)
    assert run(name, {"numbers": [5, 6]}) == {"total": 9}
    [record] = client.request("GET", f"/v1/runs?graph={name}")["items"]
    spans = client.request("GET", f"/v1/runs/{record['id']}")["trace"]["spans"]
    [ran] = [span["outputs"]["result"] for span in spans if span["kind"] == "tool"]
    assert ran == '{"total":11}' and pushed.notes == []


def test_nested_modules_and_parallel_are_nodes_of_one_graph(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    program = modules.Outer()
    pushed = push(program, name, client=client)
    assert pushed.paths == {"inner.steps[0]": ["inner_steps_0"], "inner.steps[1]": ["inner_steps_1"], "ask": ["ask"]}
    assert_alike(client, program, pushed, {"country": "Peru"})


def test_comprehensions_and_parallel_over_a_list_of_the_run_are_map_nodes(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    program = modules.Tickets()
    program.title.demos = [dspy.Example(answer="It is late.", title="Late parcel")]
    pushed = push(program, name, client=client)
    assert pushed.paths == {"reply.predict": ["reply.module.predict"], "title": ["title.module"]}
    inputs: dict[str, object] = {"tickets": ["Where is it?", "It is broken."], "style": "brief"}
    outputs = assert_alike(client, program, pushed, inputs)
    assert outputs["answers"] == ["Lima", "Lima"]


def test_a_retriever_of_dspy_stays_with_the_caller(client: Client, name: str) -> None:
    class Retrieves(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.retrieve = dspy.Retrieve(k=2)
            self.respond = dspy.Predict("context, question -> response")

        def forward(self, question: str) -> dspy.Prediction:
            return self.respond(context=self.retrieve(question).passages, question=question)

    pushed = push(Retrieves(), name, client=client, outside={"Retrieve": {"passages": list[str]}})
    assert pushed.graph["nodes"]["Retrieve"]["signature"]["inputs"][0] == {"name": "query", "type": "str"}
    functions = {"Retrieve": lambda query: dspy.Prediction(passages=[query])}
    assert answer(name, {"question": "castle"}, functions, client=client)["outputs"] == {
        "response": "Linux has high and low memory."
    }


def test_settings_of_a_predictor_are_settings_of_its_node() -> None:
    graph = graph_of(dspy.Predict("question -> answer", temperature=0.2, max_tokens=50), "asked")
    assert graph["nodes"]["predict"]["lm"] == {"temperature": 0.2, "max_tokens": 50}


def test_settings_that_a_graph_does_not_have_and_models_without_an_alias_are_noted(client: Client, name: str) -> None:
    program = dspy.Predict("question -> answer", logprobs=True)
    program.lm = dspy.LM("openai/gpt-4o")
    assert push(program, name, client=client).notes == [
        "settings are left out that a graph does not have: logprobs",
        "the model `openai/gpt-4o` is not taken over; nodes use the alias `default`",
    ]


def test_an_lm_of_a_predictor_is_the_alias_that_the_caller_names() -> None:
    program = dspy.Predict("question -> answer")
    program.lm = dspy.LM("openai/gpt-4o", temperature=0.5)
    graph = graph_of(program, "asked", models={"openai/gpt-4o": "default"})
    assert graph["nodes"]["predict"]["lm"] == {"model": "default", "temperature": 0.5}


def test_a_remote_within_a_pushed_program_is_a_node_that_runs_the_graph(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    push(modules.Inner(), name, client=client)

    class Trip(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tour = Remote(name, client=client)
            self.write = dspy.Predict("sentence -> summary")

        def forward(self, country: str) -> dspy.Prediction:
            return self.write(sentence=self.tour(country=country).sentence)

    pushed = push(Trip(), f"{name}-trip", client=client)
    assert pushed.graph["nodes"]["tour"]["config"]["graph"] == name
    assert run(f"{name}-trip", {"country": "Peru"}) == {"summary": "A trip."}


def test_attempts_of_a_remote_are_attempts_of_the_stored_graph(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    push(modules.Two(), name, client=client)
    program = dspy.BestOfN(Remote(name, client=client), N=2, reward_fn=modules.one_word, threshold=1.0)
    pushed = push(program, f"{name}-best", client=client)
    assert pushed.graph["nodes"]["best_of_n"]["config"]["module"]["config"]["graph"] == name
    assert run(f"{name}-best", {"question": "Capital of Peru?"})["answer"] == "Lima"


def test_an_http_tool_has_the_name_the_description_and_the_arguments_of_its_function() -> None:
    http = {"http": {"method": "GET", "url": "https://search.example.com/pages"}}
    tools = {"search_wikipedia": http, "evaluate_math": "calculator"}
    graph = graph_of(tutorials.agent(), "agent", tools=tools)
    assert graph["nodes"]["re_act"]["config"] == {
        "tools": [
            "calculator",
            {
                "http": {
                    "name": "search_wikipedia",
                    "description": "Abstracts of pages that fit the query.",
                    "method": "GET",
                    "url": "https://search.example.com/pages",
                    "arguments": {
                        "type": "object",
                        "properties": {"query": {"type": "string"}},
                        "required": ["query"],
                        "additionalProperties": False,
                    },
                }
            },
        ],
        "max_iters": 4,
    }


@pytest.mark.parametrize("kind", [dict, dspy.Prediction])
def test_a_prediction_and_a_dict_are_returned_alike(kind: type) -> None:
    class Returns(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        def forward(self, question: str) -> object:
            return kind(answer=self.ask(question=question).answer, source="constant")

    graph = graph_of(Returns(), "returns")
    assert graph["outputs"] == {"answer": "ask.answer", "source": "render.text"}
