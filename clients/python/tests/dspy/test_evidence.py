"""`Noul`, `Choice` and `Score` beside DSPy: the same decisions over one scripted model, and rules that go both ways."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import dspy
import pytest
from alike import assert_alike
from conftest import Run
from dspy.adapters.types.decision import Choice, Noul, Score

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, pull, push, push_saved

URGENT = Noul[(True, "somebody waits")]
QUEUE = Choice[("amber", "money"), ("blue", None), ("green", {"not": "urgent"})]
ANGER = Score["calm", "annoyed", "furious"]


class Sort(dspy.Signature):
    """Sort the ticket."""

    ticket: str = dspy.InputField()
    urgent: URGENT = dspy.OutputField(desc="Is it urgent?")  # type: ignore[valid-type]
    queue: QUEUE = dspy.OutputField(desc="Which queue?")  # type: ignore[valid-type]
    anger: ANGER = dspy.OutputField(desc="How angry?")  # type: ignore[valid-type]
    blocked: Annotated[bool, Noul] = dspy.OutputField(desc="Is it blocked?")
    answer: str = dspy.OutputField()


class Desk(dspy.Module):
    """A program that reads all parts of decisions."""

    def __init__(self) -> None:
        super().__init__()
        self.sort = dspy.Predict(Sort)

    def forward(self, ticket: str) -> Any:
        """The call."""
        sorted_ = self.sort(ticket=ticket)
        answer = "now" if sorted_.urgent else "later"
        if sorted_.queue.value == "amber":
            answer = "money"
        return dspy.Prediction(
            answer=answer,
            urgent=sorted_.urgent.value,
            likely=sorted_.urgent.probability,
            queue=sorted_.queue.value,
            amber=sorted_.queue.probabilities["amber"],
            anger=float(sorted_.anger),
            level=sorted_.anger.level,
            blocked=sorted_.blocked,
        )


def calibrated() -> Desk:
    """The program with other rules."""
    program = Desk()
    program.sort.fields = {
        "urgent": {"threshold": 0.3},
        "queue": {"weights": {"amber": 3.0, "blue": 1.0, "green": 1.0}},
        "anger": {"cuts": [0.25, 0.5]},
        "blocked": {"threshold": 0.7, "criteria": {"true": "rude"}, "instructions": "Shall nobody see it?"},
    }
    return program


def test_decisions_are_those_of_dspy(client: Client, name: str, lm: dspy.LM) -> None:
    outputs = assert_alike(client, Desk(), push(Desk(), name, client=client), {"ticket": "Where is it?"})
    assert outputs == {
        "answer": "later", "urgent": False, "likely": 0.4, "queue": "blue", "amber": 0.2, "anger": 0.75, "level": 1,
        "blocked": True,
    }  # fmt: skip


def test_rules_are_state_and_decide_as_in_dspy(client: Client, name: str, lm: dspy.LM) -> None:
    first = push(Desk(), name, client=client)
    pushed = push(calibrated(), name, client=client)
    outputs = assert_alike(client, calibrated(), pushed, {"ticket": "Where is it?"})
    assert (outputs["answer"], outputs["queue"], outputs["level"], outputs["blocked"]) == ("money", "amber", 2, False)
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert state["sort"]["decisions"] == {
        "urgent": {"threshold": 0.3}, "queue": {"weights": {"amber": 3.0}}, "anger": {"cuts": [0.25, 0.5]},
        "blocked": {"threshold": 0.7},
    }  # fmt: skip
    assert first.graph["version"] != pushed.graph["version"], "criteria are the graph's"


def test_the_node_has_criteria_and_descriptions() -> None:
    node = graph_of(calibrated(), "desk")["nodes"]["sort"]
    assert node["strategy"] == "decide"
    assert node["config"] == {
        "decisions": ["urgent", "queue", "anger", "blocked"],
        "criteria": {
            "urgent": {"true": "somebody waits"},
            "queue": {"amber": "money", "green": '{"not": "urgent"}'},
            "anger": ["calm", "annoyed", "furious"],
            "blocked": {"true": "rude"},
        },
    }
    described = {field["name"]: field.get("description") for field in node["signature"]["outputs"]}
    assert described["blocked"] == "Shall nobody see it?"


def test_pull_brings_rules_and_demos_with_evidence_back(client: Client, name: str, lm: dspy.LM) -> None:
    push(Desk(), name, client=client)
    demo = {"input": {"ticket": "x"}, "output": {"urgent_probability": 0.9, "answer": "y"}}
    body = {"decisions": {"urgent": {"threshold": 0.35}, "queue": {"weights": {"green": 4}}}, "demos": [demo]}
    client.request("PATCH", f"/v1/graphs/{name}/predictors/sort", body)
    program = pull(calibrated(), name, client=client)
    assert program.sort.fields == {
        "urgent": {"threshold": 0.35},
        "queue": {"weights": {"green": 4.0}},
        "anger": {},
        "blocked": {"criteria": {"true": "rude"}, "instructions": "Shall nobody see it?"},
    }
    assert program.sort.demos[0].toDict() == {"ticket": "x", "urgent": {"noul": 0.9}, "answer": "y"}
    assert program(ticket="Where?").queue == "green"
    pushed = push(program, name, client=client)
    assert_alike(client, program, pushed, {"ticket": "Where is it?"})


def test_saved_files_have_the_rules_on_both_sides(client: Client, name: str, lm: dspy.LM, tmp_path: Path) -> None:
    calibrated().save(tmp_path / "desk.json")
    push_saved(Desk(), tmp_path / "desk.json", name, client=client)
    pushed = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    file = json.loads((tmp_path / "desk.json").read_text())
    put = client.request("PUT", f"/v1/graphs/{name}/state", {"format": "dspy", "state": file})
    assert [place for place in put["ignored"] if "/sort/fields/" in place] == [
        "/state/sort/fields/blocked/criteria",
        "/state/sort/fields/blocked/instructions",
    ]
    read = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert read["sort"]["decisions"]["urgent"] == pushed["sort"]["decisions"]["urgent"] == {"threshold": 0.3}
    back = client.request("GET", f"/v1/graphs/{name}/state?format=dspy")
    (tmp_path / "back.json").write_text(json.dumps(back))
    program = Desk()
    program.load(str(tmp_path / "back.json"))
    assert program.sort.fields["anger"] == {"cuts": [0.25, 0.5]}
    assert program(ticket="Where?").level == 2


def test_a_plain_output_is_decided_where_the_predictor_says_so(client: Client, name: str, lm: dspy.LM) -> None:
    field = dspy.OutputField(desc="Which?")
    signature = dspy.Signature("ticket -> answer").append("queue", field, Literal["amber", "blue", "green"])
    program = dspy.ChainOfThought(signature)
    assert graph_of(program, name)["nodes"]["chain_of_thought"]["strategy"] == "chain_of_thought"
    program.predict.fields = {"queue": {"weights": {"amber": 3.0}}}
    outputs = assert_alike(client, program, push(program, name, client=client), {"ticket": "Where is it?"})
    assert outputs == {"reasoning": "Peru has one capital.", "answer": "Lima", "queue": "amber"}


def test_a_decision_that_is_an_output_is_its_value(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    program = dspy.Predict(Sort)
    pushed = push(program, name, client=client)
    assert "the output `urgent` is the value of a decision, without its probabilities and confidence" in pushed.notes
    outputs, there = run(name, {"ticket": "Where is it?"}), program(ticket="Where is it?")
    assert outputs["anger"] == there.anger.value
    assert (outputs["urgent"], outputs["queue"]) == (there.urgent.value, there.queue.value)


def test_demos_with_answers_alone_lose_them_with_a_note(client: Client, name: str) -> None:
    program = Desk()
    program.sort.demos = [dspy.Example(ticket="x", urgent=True, answer="y"), dspy.Example(ticket="z", urgent=True)]
    pushed = push(program, name, client=client)
    assert pushed.notes == ["2 demos of `sort` decide without probabilities"]
    state = client.request("GET", f"/v1/graphs/{name}/state")["predictors"]
    assert state["sort"]["demos"] == [{"input": {"ticket": "x"}, "output": {"answer": "y"}}]


REFUSED = {
    "confidence": (
        lambda made: made.urgent.confidence,
        "reads `.confidence` of `urgent`, which a graph does not have.",
    ),
    "compared": (lambda made: made.queue == "amber", "uses `queue`, a `Choice`, as a whole. Read its `.value`."),
    "written": (lambda made: f"{made.anger}", "uses `anger`, a `Score`, as a whole. Read its `.value`."),
    "another part": (lambda made: made.urgent.level, "reads `.level` of `urgent`, a `Noul`, which has none."),
}


@pytest.mark.parametrize(("use", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_other_uses_of_decisions_are_refused(use: Any, what: str) -> None:
    class Uses(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sort = dspy.Predict(Sort)

        def forward(self, ticket: str) -> Any:
            return dspy.Prediction(answer=use(self.sort(ticket=ticket)))

    with pytest.raises(CannotPush) as refusal:
        graph_of(Uses(), "uses")
    assert what in str(refusal.value)
