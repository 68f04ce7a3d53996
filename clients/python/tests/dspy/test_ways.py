"""Programs that decide by values of the run: each way is an arm of a `branch`, and the answers are those of DSPy."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any, Literal

import dspy
import pytest
from alike import assert_alike

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, pull, push


class Ask(dspy.Module):
    """What the programs below have in common."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer, sure: bool, score: float, note: Optional[str]")
        self.again = dspy.ChainOfThought("question, answer -> better")


class UnsureThenSlow(Ask):
    def forward(self, question: str) -> Any:
        first = self.ask(question=question)
        if first.sure:
            return dspy.Prediction(answer=first.answer, way="quick")
        second = self.again(question=question, answer=first.answer)
        return dspy.Prediction(answer=second.better, way="slow")


class Compares(Ask):
    def forward(self, question: str) -> Any:
        first = self.ask(question=question)
        if first.score > 0.9 and not first.sure:
            return dspy.Prediction(answer="never mind")
        elif first.answer in ["Quito"] or "Lim" in first.answer or first.note is None:
            return dspy.Prediction(answer=f"{first.answer}!")
        return dspy.Prediction(answer=self.again(question=question, answer=first.answer).better)


class Router(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        kind = Literal["calm", "angry"]
        fields = {"question": (str, dspy.InputField()), "kind": (kind, dspy.OutputField())}
        self.sort = dspy.Predict(dspy.Signature(fields))
        self.math = dspy.ChainOfThought("question -> answer")
        self.text = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        match self.sort(question=question).kind:
            case "calm":
                answer = self.math(question=question).answer
            case _:
                answer = self.text(question=question).answer
        return dspy.Prediction(answer=answer)


class Rounds(Ask):
    def forward(self, question: str) -> Any:
        answer = "nothing yet"
        for _ in range(3):
            answer = self.again(question=question, answer=answer).better
            if self.ask(question=answer).sure:
                break
        return dspy.Prediction(answer=answer)


@pytest.mark.parametrize("program", [UnsureThenSlow, Compares, Router, Rounds], ids=lambda program: program.__name__)
def test_each_way_is_an_arm(program: Any, client: Client, name: str, lm: dspy.LM) -> None:
    pushed = push(program(), name, client=client)
    assert any(node["strategy"] == "branch" for node in pushed.graph["nodes"].values())
    assert_alike(client, program(), pushed, {"question": "Capital of Peru?"})


def test_an_output_of_one_way_only_is_left_out_and_noted(client: Client, name: str) -> None:
    class Either(Ask):
        def forward(self, question: str) -> Any:
            first = self.ask(question=question)
            return first if first.sure else self.again(question=question, answer=first.answer)

    with pytest.raises(CannotPush) as refusal:
        graph_of(Either(), name)
    assert "returns other members on each way of a decision" in str(refusal.value)

    class Both(Ask):
        def forward(self, question: str) -> Any:
            first = self.ask(question=question)
            return dspy.Prediction(answer="a", more="b") if first.sure else dspy.Prediction(answer="c")

    pushed = push(Both(), name, client=client)
    assert "`more` is returned on one way of a decision only, and is no output" in pushed.notes
    assert list(pushed.graph["outputs"]) == ["answer"]


def test_predictors_after_a_decision_have_state_and_come_back(client: Client, name: str) -> None:
    program = UnsureThenSlow()
    program.again.predict.demos = [
        dspy.Example(question="a", answer="b", reasoning="c", better="d").with_inputs("question", "answer")
    ]
    pushed = push(program, name, client=client)
    assert pushed.paths["again.predict"] == ["branch.else.again.predict"]
    pulled = pull(UnsureThenSlow(), name, client=client)
    assert pulled.again.predict.demos[0].better == "d"


def test_too_many_decisions_are_refused() -> None:
    class Forever(Ask):
        def forward(self, question: str) -> Any:
            first = self.ask(question=question)
            while not first.sure:
                first = self.ask(question=question)
            return first

    with pytest.raises(CannotPush) as refusal:
        graph_of(Forever(), "forever")
    assert "decides more than 8 times in a row" in refusal.value.reasons[0].what
    assert refusal.value.reasons[0].nearest == "Nearest: `loop` (docs/strategies.md#loop)."
