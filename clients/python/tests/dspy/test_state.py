"""Instructions and demos are state: pushed, compared in the prompts, loaded from DSPy's files, and pulled back."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
import tutorials
from conftest import Run
from http_client import HttpClient, Problem
from modules import Booking, Desk, Mood, Person
from test_chain import Tour

from dsrs_client.dspy import CannotPull, PromptsDiffer, pull, push, push_saved


def optimized() -> Tour:
    """A tour with instructions and demos, of which one lacks a field."""
    tour = Tour()
    tour.capital.signature = tour.capital.signature.with_instructions("Name the capital.\nNothing else.")
    tour.capital.demos = [
        dspy.Example(country="France", city="Paris", augmented=True).with_inputs("country"),
        dspy.Example(country="Spain", city="Madrid").with_inputs("country"),
        dspy.Example(country="Nowhere"),
    ]
    tour.advice.predict.demos = [
        dspy.Example(city="Paris", style="brief", reasoning="It rains.", sentence="Take an umbrella."),
        dspy.Example(city="Madrid", sentence="Take a hat."),
    ]
    return tour


class Application(dspy.Signature):
    """Decide on an application."""

    age: int = dspy.InputField(ge=18, desc="in years")
    when: datetime.date = dspy.InputField()
    pair: tuple[int, str] = dspy.InputField()
    maybe: list[dict[str, int]] | None = dspy.InputField()
    note: str = dspy.InputField(default="none")
    verdict: Literal["yes", "no"] = dspy.OutputField()


def test_instructions_and_demos_become_the_active_state(client: HttpClient, name: str) -> None:
    push(optimized(), name, client=client)
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert state["capital"]["instruction"] == "Name the capital.\nNothing else."
    assert state["capital"]["demos"] == [
        {"input": {"country": "France"}, "output": {"city": "Paris"}},
        {"input": {"country": "Spain"}, "output": {"city": "Madrid"}},
    ]
    assert [demo["output"]["sentence"] for demo in state["advice.predict"]["demos"]] == [
        "Take a hat.",
        "Take an umbrella.",
    ]


def test_the_prompt_has_the_demos_in_the_order_of_dspy(client: HttpClient, name: str, lm: dspy.LM) -> None:
    program = optimized()
    pushed = push(program, name, client=client)
    assert pushed.rendered == 2
    body = {"node": "advice", "inputs": {"city": "Lima", "style": "brief"}}
    shown = client.request("POST", f"/v1/graphs/{name}/render", body)["predictors"]["advice.predict"]["messages"]
    program(country="Peru")
    of_dspy = lm.history[-1]["messages"]
    assert [message["role"] for message in shown] == [message["role"] for message in of_dspy]
    for ours, theirs in zip(shown[2:-1:2], of_dspy[2:-1:2], strict=True):
        said = theirs["content"].split("[[ ## sentence ## ]]\n")[1].split("\n")[0]
        assert said in ours["content"]


def test_a_prompt_without_the_demos_is_an_exception(client: HttpClient, name: str) -> None:
    class LosesDemos:
        def request(self, method: str, path: str, json: Any = None) -> Any:
            if method == "PUT" and path.endswith("/state"):
                json["predictors"]["capital"]["demos"] = []
                json["predictors"]["capital"]["instruction"] = "Guess."
            return client.request(method, path, json)

    with pytest.raises(PromptsDiffer) as difference:
        push(optimized(), name, client=LosesDemos())
    assert difference.value.differences == {
        "capital": [
            "has the instruction 'Guess.' instead of 'Name the capital.\\nNothing else.'",
            "has 0 demos that differ from the 2 of the program",
            "lacks the instruction 'Name the capital.\\nNothing else.'",
            "shows 0 demos instead of 2",
        ]
    }


def test_a_field_with_a_constraint_and_types_of_all_kinds_are_compared_by_schema(client: HttpClient, name: str) -> None:
    pushed = push(dspy.ChainOfThought(Application), name, client=client)
    assert pushed.rendered == 0
    fields = {field["name"]: field for field in pushed.graph["nodes"]["chain_of_thought"]["signature"]["inputs"]}
    assert fields["age"]["constraints"][0]["assert"] == "this >= 18"
    assert [fields[name]["type"] for name in ("when", "pair", "maybe")] == [
        "str",
        "tuple[int, str]",
        "list[dict[str, int]]?",
    ]
    assert fields["note"]["default"] == "none" == pushed.graph["inputs"]["note"]["default"]
    assert pushed.graph["inputs"]["age"]["description"] == "in years"


def test_a_second_push_of_an_optimized_program_changes_its_state_and_not_its_graph(
    client: HttpClient, name: str
) -> None:
    first = push(Tour(), name, client=client)
    second = push(optimized(), name, client=client)
    assert first.graph["version"] == second.graph["version"]
    assert second.state_version > first.state_version


def test_a_saved_program_gives_the_same_answers(
    client: HttpClient, run: Run, name: str, lm: dspy.LM, tmp_path: Path
) -> None:
    program = optimized()
    program.save(tmp_path / "tour.json")
    push_saved(Tour(), tmp_path / "tour.json", name, client=client)
    assert run(name, {"country": "Peru"}) == program(country="Peru").toDict()
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert len(state["capital"]["demos"]) == 2


def test_the_server_reads_the_same_file_to_the_same_state(client: HttpClient, name: str, tmp_path: Path) -> None:
    import json

    optimized().save(tmp_path / "tour.json")
    push_saved(Tour(), tmp_path / "tour.json", name, client=client)
    pushed = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    file = json.loads((tmp_path / "tour.json").read_text())
    client.request("PUT", f"/v1/graphs/{name}/state", {"format": "dspy", "state": file})
    read = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    for path, state in pushed.items():
        key = repr
        assert state["effective_instruction"] == read[path]["effective_instruction"]
        assert sorted(state["demos"], key=key) == sorted(read[path]["demos"], key=key)


def test_pull_brings_the_state_of_the_server_into_the_program(client: HttpClient, name: str, lm: dspy.LM) -> None:
    push(Tour(), name, client=client)
    demo = {"input": {"country": "Italy"}, "output": {"city": "Rome"}}
    change = {"instruction": "Answer in one word.", "demos": [demo]}
    client.request("PATCH", f"/v1/graphs/{name}/predictors/capital", change)
    program = pull(Tour(), name, client=client)
    assert program.capital.signature.instructions == "Answer in one word."
    assert [example.toDict() for example in program.capital.demos] == [{"country": "Italy", "city": "Rome"}]
    program(country="Peru")
    asked = lm.history[-2]["messages"]
    assert "Answer in one word." in asked[0]["content"] and "Italy" in asked[1]["content"]


def test_pull_after_push_leaves_a_program_as_it_is(client: HttpClient, name: str) -> None:
    program = optimized()
    push(program, name, client=client)
    pulled = pull(Tour(), name, client=client)
    assert pulled.capital.signature.instructions == program.capital.signature.instructions
    assert pulled.advice.predict.signature.instructions == program.advice.predict.signature.instructions
    assert len(pulled.advice.predict.demos) == 2


def test_pull_keeps_the_instruction_that_dspy_writes_for_an_agent(client: HttpClient, name: str) -> None:
    tools = {"evaluate_math": "calculator", "search_wikipedia": "current_time"}
    program = tutorials.agent()
    program.extract.predict.signature = program.extract.predict.signature.with_instructions("Answer in a word.")
    program.react.demos = [
        dspy.Example(
            question="1 + 1?", trajectory="none", next_thought="Add.", next_tool_name="calculator",
            next_tool_args={"expression": "1+1"},
        )
    ]  # fmt: skip
    push(program, name, client=client, tools=tools)
    pulled = pull(tutorials.agent(), name, client=client, tools=tools)
    assert pulled.react.signature.instructions == tutorials.agent().react.signature.instructions
    assert pulled.extract.predict.signature.instructions == "Answer in a word."
    assert pulled.react.demos[0].next_tool_args == {"expression": "1+1"}


def test_demos_of_classes_are_pushed_as_their_members(client: HttpClient, name: str) -> None:
    desk = Desk()
    booking = Booking(traveller=Person(name="Ada"), cities=["Lima"], mood=Mood.CALM)
    desk.read.demos = [dspy.Example(letter="Dear all", booking=booking)]
    push(desk, name, client=client)
    [demo] = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]["read"]["demos"]
    assert demo["output"]["booking"]["traveller"]["name"] == "Ada"
    [pulled] = pull(Desk(), name, client=client).read.demos
    assert pulled.booking == booking


def test_one_predictor_with_two_states_cannot_be_pulled(client: HttpClient, name: str) -> None:
    outside = {"search": list[str]}
    push(tutorials.Hop(), name, client=client, outside=outside)
    client.request("PATCH", f"/v1/graphs/{name}/predictors/generate_query.predict", {"instruction": "Ask."})
    with pytest.raises(CannotPull) as refusal:
        pull(tutorials.Hop(), name, client=client, outside=outside)
    assert str(refusal.value) == (
        "the predictor `generate_query.predict` is called at generate_query.predict, generate_query_2.predict, "
        "which have different states"
    )


def test_a_graph_of_another_program_cannot_be_pulled(client: HttpClient, name: str) -> None:
    push(dspy.Predict("country -> city"), name, client=client)
    with pytest.raises(CannotPull) as refusal:
        pull(Tour(), name, client=client)
    assert str(refusal.value) == f"`{name}` has no predictor capital, advice.predict; push the program first"


def test_a_graph_that_does_not_exist_cannot_be_pulled(client: HttpClient, name: str) -> None:
    with pytest.raises(Problem):
        pull(Tour(), name, client=client)
