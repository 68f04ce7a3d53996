"""Rewards that ask predictors, or do more than an expression can say: they are graphs of the server."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from conftest import Run
from dspy.utils.callback import BaseCallback

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, pull, push

INPUTS: dict[str, Any] = {"question": "What is the capital of Peru?"}

factual = dspy.ChainOfThought("answer -> sure: bool, number: int")
rate = dspy.Predict("question, answer -> decimal: float")


def by_judge(args: Any, pred: Any) -> float:
    """A judge, as DSPy's documentation writes it."""
    return 1.0 if factual(answer=pred.answer).sure else 0.0


def by_two_judges(args: Any, pred: Any) -> float:
    """Several statements, with a second judge on one way."""
    score = 0.0
    if len(pred.answer) > 200:
        return score
    if factual(answer=pred.answer).sure:
        score += 0.5
    rated = rate(question=args["question"], answer=pred.answer)
    return float(score + rated.decimal / 2)


def through_a_list(args: Any, pred: Any) -> float:
    """A reward over a list of the run, which no expression says."""
    short = [word for word in pred.words if len(word) < 30]
    return len(short) / max(len(pred.words), 1)


judges = [dspy.Predict("answer -> sure: bool"), dspy.Predict("answer -> decimal: float")]


def of_each_word(args: Any, pred: Any) -> float:
    """A judge of each word."""
    return sum([float(judges[0](answer=word).sure) for word in pred.words])


def by_a_helper(args: Any, pred: Any, judge: Any = judges[1]) -> float:
    """A judge that another function asks."""

    def rated(text: str) -> Any:
        return judge(answer=text).decimal

    return float(rated(pred.answer) + rated(args["question"]))


def of_whole_and_parts(args: Any, pred: Any) -> Any:
    """An int on one way and a float on the other."""
    score = 0
    if judges[0](answer=pred.answer).sure:
        score += 0.5  # type: ignore[assignment]
    return score


class Requests(BaseCallback):
    """Counts requests to the model, those of copies of it, too."""

    def __init__(self) -> None:
        self.count = 0

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """One request."""
        self.count += 1


class Judged(dspy.Module):
    """Attempts of one predictor."""

    def __init__(self, reward: Callable[[Any, Any], Any], threshold: float = 0.1) -> None:
        super().__init__()
        self.write = dspy.BestOfN(dspy.Predict("question -> answer, words: list[str]"), 3, reward, threshold)

    def forward(self, question: str) -> Any:
        """One node."""
        found = self.write(question=question)
        return dspy.Prediction(answer=found.answer, words=found.words)


@pytest.mark.parametrize(
    "reward", [by_judge, by_two_judges, through_a_list, of_each_word, by_a_helper, of_whole_and_parts]
)
@pytest.mark.parametrize("threshold", [0.1, 7.0])
def test_a_reward_is_what_dspy_computes(
    reward: Callable[[Any, Any], Any], threshold: float, client: Client, name: str, lm: dspy.LM
) -> None:
    program = Judged(reward, threshold)
    requests = Requests()
    with dspy.context(callbacks=[requests]):
        expected = program(**INPUTS).toDict()
    push(program, name, client=client)
    run = client.request("POST", f"/v1/graphs/{name}/execute", {"inputs": INPUTS, "trace": True})
    assert run["outputs"] == expected
    assert run["usage"]["lm_calls"] == requests.count


def test_the_predictors_of_a_reward_have_state(client: Client, name: str) -> None:
    program = Judged(by_judge)
    demo = dspy.Example(answer="Lima", reasoning="known", sure=True, number=1).with_inputs("answer")
    factual.predict.demos = [demo]
    try:
        pushed = push(program, name, client=client)
        path = "write.judge.factual.predict"
        assert pushed.paths["factual.predict"] == [path]
        client.request("PATCH", f"/v1/graphs/{name}/predictors/{path}", {"instruction": "Be strict."})
        pull(program, name, client=client)
        assert factual.predict.signature.instructions == "Be strict."
        assert len(factual.predict.demos) == 1
        again = push(Judged(by_judge), name, client=client).graph
        assert again["version"] == pushed.graph["version"], "an optimized program is its state"
    finally:
        factual.predict.demos = []
        factual.predict.signature = factual.predict.signature.with_instructions("")


class Holds(dspy.Module):
    """A program that holds its judge."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = dspy.Predict("answer -> sure: bool")
        self.write = dspy.Refine(dspy.ChainOfThought("question -> answer"), 2, self.reward_of, 0.5)

    def reward_of(self, args: Any, pred: Any) -> float:
        """A method."""
        return float(self.judge(answer=pred.answer).sure)

    def forward(self, question: str) -> Any:
        """One node."""
        return dspy.Prediction(answer=self.write(question=question).answer)


def test_a_judge_of_the_program_has_its_path_in_files_of_dspy(client: Client, name: str, run: Run, lm: dspy.LM) -> None:
    program = Holds()
    expected = program(**INPUTS).toDict()
    push(program, name, client=client)
    assert run(name, INPUTS) == expected
    node = graph_of(program, "g")["nodes"]["write"]
    assert "judge" in node["dspy_paths"].values()


def test_a_reward_without_a_value_is_refused() -> None:
    def sometimes(args: Any, pred: Any) -> Any:
        if factual(answer=pred.answer).sure:
            return 1.0
        return None

    with pytest.raises(CannotPush, match="returns nothing on one way"):
        graph_of(Judged(sometimes), "g")


def test_a_reward_changes_nothing() -> None:
    def shouts(args: Any, pred: Any) -> float:
        pred.answer = pred.answer.upper()
        return 1.0 if factual(answer=pred.answer).sure else 0.0

    with pytest.raises(CannotPush, match="changes the inputs or the prediction in a reward"):
        graph_of(Judged(shouts), "g")


def test_a_field_with_the_name_of_the_score_is_refused() -> None:
    program = dspy.BestOfN(dspy.Predict("question -> answer, reward: float"), 2, by_judge, 1.0)
    with pytest.raises(CannotPush, match="a field that is named `reward`"):
        graph_of(program, "g", inputs={"question": str})
