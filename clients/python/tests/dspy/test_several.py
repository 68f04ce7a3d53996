"""Several answers: completions of one call, majorities, and attempts of a program of several steps."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

import dspy
import pytest
from conftest import Run
from small_python import Small

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


def completions(p: Any, q: Any) -> Any:
    made = p.again(question=q, config={"n": 3, "temperature": 0.7})
    return {"all": made.completions.answer, "first": made.answer, "second": made.completions[1].answer}


def a_majority(p: Any, q: Any) -> Any:
    return dspy.majority(p.again(question=q, config={"n": 3})).answer


def a_majority_of_calls(p: Any, q: Any) -> Any:
    words = p.ask(question=q).words
    made = [p.again(question=q), dspy.Prediction(answer=words[1]), dspy.Prediction(answer=words[1])]
    return dspy.majority(made).answer


@pytest.mark.parametrize(
    ("steps", "calls"), [(completions, 3), (a_majority, 3), (a_majority_of_calls, 2)], ids=lambda part: str(part)
)
def test_several_answers_are_those_of_dspy(
    steps: Any, calls: int, client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    push(Small(steps), name, client=client)
    assert run(name, {"question": "Where?"})["made"] == Small(steps)(question="Where?").made
    [made] = client.request("GET", f"/v1/runs?graph={name}")["items"]
    spans = client.request("GET", f"/v1/runs/{made['id']}")["trace"]["spans"]
    assert len([span for span in spans if span["kind"] == "predictor"]) == calls


VOTES = [
    ["Lima", "lima.", "Cusco"],
    ["the Lima", "Cusco", "A cusco!"],
    ["", "the", "Lima"],
    ["a", "The", ""],
    ["x", "y", "z"],
    ["É", "é", "Cusco"],
    ["New  York", "new york", "Cusco"],
]


@pytest.mark.parametrize("normalize", [True, False], ids=["normalized", "as they are"])
def test_a_majority_counts_as_dspy_counts(normalize: bool, client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    class Counts(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        def forward(self, votes: list[str]) -> Any:
            options = {} if normalize else {"normalize": None}
            made = [dspy.Prediction(answer=votes[number]) for number in range(3)]
            return dspy.Prediction(made=dspy.majority(made, **options).answer, asked=self.ask(question="Why?").answer)

    push(Counts(), name, client=client)
    for votes in VOTES:
        assert run(name, {"votes": votes}) == Counts()(votes=votes).toDict(), votes


def longer(args: dict[str, Any], prediction: Any) -> float:
    """Longer answers are better."""
    return float(len(prediction.answer) > 40)


class Steps(dspy.Module):
    """Two steps."""

    def __init__(self) -> None:
        super().__init__()
        self.draft = dspy.Predict("question -> answer, sure: bool")
        self.improve = dspy.ChainOfThought("question, answer -> better")

    def forward(self, question: str) -> Any:
        """A draft, and a better answer unless it is sure."""
        first = self.draft(question=question)
        if not first.sure:
            return dspy.Prediction(answer=first.answer)
        return dspy.Prediction(answer=self.improve(question=question, answer=first.answer).better)


@pytest.mark.parametrize("kind", [dspy.BestOfN, dspy.Refine], ids=["best_of_n", "refine"])
def test_attempts_of_a_program_of_several_steps(kind: Any, client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    class Attempts(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.best = kind(Steps(), N=2, reward_fn=longer, threshold=1.0)

        def forward(self, question: str) -> Any:
            return self.best(question=f"{question}!")

    pushed = push(Attempts(), name, client=client)
    assert pushed.paths == {
        "best.module.draft": ["best.module.best_module_draft"],
        "best.module.improve.predict": ["best.module.branch.then.best_module_improve.predict"],
    }
    assert run(name, {"question": "Where?"}) == {"answer": "calm"}
    assert Attempts()(question="Where?").toDict() == {"answer": "calm"}


def test_a_normalization_of_its_own_is_refused() -> None:
    steps = lambda p, q: dspy.majority([p.again(question=q)], normalize=str.upper).answer  # noqa: E731
    with pytest.raises(CannotPush) as refusal:
        graph_of(Small(steps), "refused")
    assert "calls `dspy.majority` with a `normalize` of its own. Pass `normalize=None`." in str(refusal.value)
