"""Instructions and demos are state: pushed, compared in the prompts, loaded from DSPy's files, and pulled back."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import dspy
import pytest
import tutorials
from conftest import Run
from modules import Booking, Desk, Mood, Person
from pydantic import BaseModel, Field
from test_chain import Tour, optimized

from dsrs_client import Client, Problem
from dsrs_client.dspy import CannotPull, CannotPush, pull, push, push_saved
from dsrs_client.dspy.state import demos_of


def test_instructions_and_demos_become_the_active_state(client: Client, name: str) -> None:
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


def test_demos_that_lack_an_input_are_left_out_and_counted(client: Client, name: str) -> None:
    program = dspy.Predict("question, context -> answer")
    program.demos = [dspy.Example(question="Why?", answer="So."), dspy.Example(question="1", context="2", answer="3")]
    pushed = push(program, name, client=client)
    assert pushed.notes == ["1 demos of `predict` lack an input and are left out"]
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert [demo["output"] for demo in state["predict"]["demos"]] == [{"answer": "3"}]


def test_demos_that_do_not_fit_their_fields_are_refused(client: Client, name: str) -> None:
    program = dspy.Predict("question -> count: int")
    program.demos = [dspy.Example(question="How many?", count="several")]
    with pytest.raises(CannotPush) as refusal:
        push(program, name, client=client)
    assert str(refusal.value).startswith("the server refuses the state: /predictors/predict/demos/0/output/count: ")


def test_a_second_push_of_an_optimized_program_changes_its_state_and_not_its_graph(client: Client, name: str) -> None:
    first = push(Tour(), name, client=client)
    second = push(optimized(), name, client=client)
    assert first.graph["version"] == second.graph["version"]
    assert second.state_version > first.state_version


def test_a_saved_program_gives_the_same_answers(
    client: Client, run: Run, name: str, lm: dspy.LM, tmp_path: Path
) -> None:
    program = optimized()
    program.save(tmp_path / "tour.json")
    push_saved(Tour(), tmp_path / "tour.json", name, client=client)
    assert run(name, {"country": "Peru"}) == program(country="Peru").toDict()
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert len(state["capital"]["demos"]) == 2


def test_the_server_reads_the_same_file_to_the_same_state(client: Client, name: str, tmp_path: Path) -> None:
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


class Account(BaseModel):
    user_name: str = Field(alias="userName")
    number: int = Field(alias="id")
    mood: Mood
    born: date
    raw: bytes
    tags: set[str]
    pair: tuple[int, str]
    friends: list[Account] = []


class Greet(dspy.Signature):
    """Greet the owner."""

    account: Account = dspy.InputField()
    others: dict[str, Account] = dspy.InputField()
    greeting: str = dspy.OutputField()
    next: Account | None = dspy.OutputField()


def account(name: str, *friends: Account) -> Account:
    values = {"mood": "calm", "born": "2026-01-02", "raw": "é", "tags": ["a"], "pair": [1, "x"], "friends": friends}
    return Account.model_validate({"userName": name, "id": 3, **values})


@pytest.mark.parametrize("file", ["greet.json", "greet.pkl"])
def test_values_of_a_saved_file_have_the_names_of_the_schema(file: str, tmp_path: Path) -> None:
    program = dspy.Predict(Greet)
    ann = account("Ann", account("Bo"))
    demo = {"account": ann, "others": {"a": ann}, "greeting": "Hi", "next": ann}
    program.demos = [dspy.Example(**demo).with_inputs("account", "others")]
    program.save(tmp_path / file)
    loaded = dspy.Predict(Greet)
    loaded.load(str(tmp_path / file), **({"allow_pickle": True} if file.endswith("pkl") else {}))
    written = ann.model_dump(mode="json", by_alias=True)
    assert written["friends"][0]["userName"] == "Bo"
    assert demos_of(loaded, frozenset()) == demos_of(program, frozenset())
    assert demos_of(loaded, frozenset())[0]["input"] == {"account": written, "others": {"a": written}}
    assert demos_of(loaded, frozenset())[0]["output"] == {"greeting": "Hi", "next": written}


class Encoded(dspy.Signature):
    """Describe the data."""

    data: bytes = dspy.InputField()
    mood: Mood = dspy.InputField()
    words: set[str] = dspy.OutputField()
    day: date = dspy.OutputField()


def test_a_pickled_file_has_values_that_json_has_not(tmp_path: Path) -> None:
    program = dspy.Predict(Encoded)
    demo = dspy.Example(data=b"\xff", mood=Mood.CALM, words={"a"}, day=date(2026, 1, 2))
    program.demos = [demo.with_inputs("data", "mood")]
    program.save(tmp_path / "encoded.pkl")
    loaded = dspy.Predict(Encoded)
    loaded.load(str(tmp_path / "encoded.pkl"), allow_pickle=True)
    assert demos_of(loaded, frozenset()) == [
        {"input": {"data": "/w==", "mood": Mood.CALM.value}, "output": {"words": ["a"], "day": "2026-01-02"}}
    ]


class Guest(BaseModel):
    user_name: str = Field(alias="userName")
    id_: int = Field(alias="id")


class Meet(dspy.Signature):
    """Greet them."""

    person: Guest = dspy.InputField()
    greeting: str = dspy.OutputField()


def test_the_server_knows_members_by_their_names_in_python(client: Client, name: str, tmp_path: Path) -> None:
    program = dspy.Predict(Meet)
    ann = Guest.model_validate({"userName": "Ann", "id": 3})
    program.demos = [dspy.Example(person=ann, greeting="Hi").with_inputs("person")]
    program.save(tmp_path / "meet.json")
    push_saved(dspy.Predict(Meet), tmp_path / "meet.json", name, client=client)
    wanted = [{"input": {"person": {"userName": "Ann", "id": 3}}, "output": {"greeting": "Hi"}}]
    assert client.request("GET", f"/v1/graphs/{name}/state")["predictors"]["predict"]["demos"] == wanted
    client.request("PUT", f"/v1/graphs/{name}/state", {"predictors": {}})
    file = json.loads((tmp_path / "meet.json").read_text())
    assert "user_name" in file["demos"][0]["person"]
    client.request("PUT", f"/v1/graphs/{name}/state", {"format": "dspy", "state": file})
    assert client.request("GET", f"/v1/graphs/{name}/state")["predictors"]["predict"]["demos"] == wanted


class Listed(dspy.Module):
    """Predictors in a list, in a dict and in a module, one of which is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = [dspy.Predict("country -> city"), dspy.ChainOfThought("city -> sentence")]
        self.named = {"x": dspy.Predict("question -> answer")}
        self.inner = Tour()

    def forward(self, country: str) -> dspy.Prediction:
        """All of them."""
        city = self.steps[0](country=country).city
        again = self.steps[0](country=city).city
        sentence = self.steps[1](city=again).sentence
        answer = self.named["x"](question=sentence).answer
        return dspy.Prediction(answer=answer, sentence=self.inner(country=country).sentence)


def test_the_server_reads_and_writes_files_of_predictors_in_lists_and_dicts(
    client: Client, run: Run, name: str, lm: dspy.LM, tmp_path: Path
) -> None:
    push(Listed(), name, client=client)
    program = Listed()
    program.steps[0].demos = [dspy.Example(country="France", city="Paris")]
    program.named["x"].signature = program.named["x"].signature.with_instructions("Answer in a word.")
    program.inner.advice.predict.demos = [
        dspy.Example(city="Paris", style="brief", reasoning="It rains.", sentence="Take an umbrella.")
    ]
    program.save(tmp_path / "listed.json")
    file = json.loads((tmp_path / "listed.json").read_text())
    assert {"steps[0]", "steps[1].predict", "named['x']", "inner.advice.predict"} < set(file)
    put = client.request("PUT", f"/v1/graphs/{name}/state", {"format": "dspy", "state": file})
    assert put["ignored"] == ["/state/metadata"]
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert state["steps_0"]["demos"] == state["steps_0_2"]["demos"] != []
    assert state["named_x"]["effective_instruction"] == "Answer in a word."

    written = client.request("GET", f"/v1/graphs/{name}/state?format=dspy")
    (tmp_path / "written.json").write_text(json.dumps(written))
    loaded = Listed()
    loaded.load(tmp_path / "written.json")
    assert [demo["city"] for demo in loaded.steps[0].demos] == ["Paris"]
    assert loaded.named["x"].signature.instructions == "Answer in a word."
    assert len(loaded.inner.advice.predict.demos) == 1
    assert run(name, {"country": "Peru"}) == loaded(country="Peru").toDict()


def test_pull_brings_the_state_of_the_server_into_the_program(client: Client, name: str, lm: dspy.LM) -> None:
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


def test_pull_after_push_leaves_a_program_as_it_is(client: Client, name: str) -> None:
    program = optimized()
    push(program, name, client=client)
    pulled = pull(Tour(), name, client=client)
    assert pulled.capital.signature.instructions == program.capital.signature.instructions
    assert pulled.advice.predict.signature.instructions == program.advice.predict.signature.instructions
    assert len(pulled.advice.predict.demos) == 2


def test_pull_keeps_the_instruction_that_dspy_writes_for_an_agent(client: Client, name: str) -> None:
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


def test_demos_of_classes_are_pushed_as_their_members(client: Client, name: str) -> None:
    desk = Desk()
    booking = Booking(traveller=Person(name="Ada"), cities=["Lima"], mood=Mood.CALM)
    desk.read.demos = [dspy.Example(letter="Dear all", booking=booking)]
    push(desk, name, client=client)
    [demo] = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]["read"]["demos"]
    assert demo["output"]["booking"]["traveller"]["name"] == "Ada"
    [pulled] = pull(Desk(), name, client=client).read.demos
    assert pulled.booking == booking


def test_one_predictor_with_two_states_cannot_be_pulled(client: Client, name: str) -> None:
    outside = {"search": list[str]}
    push(tutorials.Hop(), name, client=client, outside=outside)
    client.request("PATCH", f"/v1/graphs/{name}/predictors/generate_query.predict", {"instruction": "Ask."})
    with pytest.raises(CannotPull) as refusal:
        pull(tutorials.Hop(), name, client=client, outside=outside)
    assert str(refusal.value) == (
        "the predictor `generate_query.predict` is called at generate_query.predict, generate_query_2.predict, "
        "which have different states"
    )


def test_a_graph_of_another_program_cannot_be_pulled(client: Client, name: str) -> None:
    push(dspy.Predict("country -> city"), name, client=client)
    with pytest.raises(CannotPull) as refusal:
        pull(Tour(), name, client=client)
    assert str(refusal.value) == f"`{name}` has no predictor capital, advice.predict; push the program first"


def test_a_graph_that_does_not_exist_cannot_be_pulled(client: Client, name: str) -> None:
    with pytest.raises(Problem):
        pull(Tour(), name, client=client)
