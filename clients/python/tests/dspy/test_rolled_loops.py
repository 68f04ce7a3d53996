"""Loops that decide in more rounds than a graph has ways are one node: long `for`, `while` with a bound and without."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from alike import assert_alike

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push

INPUTS = {"question": "Lima"}


class Repeats(dspy.Module):
    """A program of one function of the program and the question."""

    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps
        self.ask = dspy.Predict("question -> answer")
        self.judge = dspy.Predict("answer -> sure: bool, score: float")
        self.layers = [dspy.Predict("question -> answer") for _ in range(10)]

    def forward(self, question: str) -> Any:
        """The steps, as one answer."""
        return dspy.Prediction(made=self.steps(self, question))


def a_judge_in_many_rounds(p: Any, q: Any) -> Any:
    draft = q
    for _ in range(12):
        if p.judge(answer=draft).score > 1:
            break
        draft = p.ask(question=draft).answer
    return draft


def while_a_text_is_short(p: Any, q: Any) -> Any:
    text, rounds = q, 0
    while len(text) < 60 and rounds < 20:
        text = text + " " + p.ask(question=text).answer
        rounds += 1
    return {"text": text, "rounds": rounds}


def for_ever(p: Any, q: Any) -> Any:
    text = q
    while True:
        text = f"{text}, {p.ask(question=text).answer}"
        if len(text) > 80:
            break
    return text


def never(p: Any, q: Any) -> Any:
    text = q
    while len(text) > 100:
        text = p.ask(question=text).answer
    return text


def by_the_number_of_the_round(p: Any, q: Any) -> Any:
    found = []
    for number in range(9):
        if p.judge(answer=f"{q} {number}").sure:
            found.append(number)
        else:
            found.append(-number)
    return found


def with_continue(p: Any, q: Any) -> Any:
    found: list[str] = []
    count = 0
    while count < 11:
        count += 1
        if p.judge(answer=f"{q} {count}").score > 100:
            continue
        found.append(f"round {count}")
    return {"found": found, "count": count}


@pytest.mark.parametrize(
    "steps",
    [a_judge_in_many_rounds, while_a_text_is_short, for_ever, never, by_the_number_of_the_round, with_continue],
)
def test_a_loop_does_what_it_does_in_python(
    steps: Callable[[Any, Any], Any], client: Client, name: str, lm: dspy.LM
) -> None:
    program = Repeats(steps)
    assert_alike(client, program, push(program, name, client=client), INPUTS)


def a_few_rounds(p: Any, q: Any) -> Any:
    draft = q
    for _ in range(3):
        if p.judge(answer=draft).sure:
            break
        draft = p.ask(question=draft).answer
    return draft


def test_few_rounds_are_nodes_of_their_own() -> None:
    graph = graph_of(Repeats(a_few_rounds), "g")
    assert "loop" not in str(graph)


def test_an_endless_loop_has_a_bound_on_the_server(client: Client, name: str) -> None:
    pushed = push(Repeats(for_ever), name, client=client)
    assert "a `while` makes at most 100 rounds: more fail the run" in [str(note) for note in pushed.notes]


def through_layers(p: Any, q: Any) -> Any:
    text = q
    for layer in p.layers:
        text = layer(question=text).answer
        if p.judge(answer=text).score > 100:
            break
    return text


def test_what_cannot_be_a_node_is_refused_as_before() -> None:
    with pytest.raises(CannotPush, match="decides more than 8 times in a row"):
        graph_of(Repeats(through_layers), "g")
