"""Decisions compare as Python compares: values of other types are not equal, and what has no order is refused."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

from enum import Enum
from typing import Any, Optional

import dspy
import pytest
from alike import assert_alike
from pydantic import BaseModel

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


class Mood(Enum):
    """How somebody feels."""

    CALM = "calm"
    ANGRY = "angry"


class Entity(BaseModel):
    """An element of a list."""

    name: str
    kind: str


class Facts(dspy.Signature):
    """Write down the facts."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    sure: bool = dspy.OutputField()
    score: float = dspy.OutputField()
    mood: Mood = dspy.OutputField()
    words: list[str] = dspy.OutputField()
    nothing: set[str] = dspy.OutputField()
    titles: set[str] = dspy.OutputField()
    maybe: Optional[int] = dspy.OutputField()
    note: Optional[str] = dspy.OutputField()
    total: int = dspy.OutputField()
    prices: dict[str, float] = dspy.OutputField()
    entities: list[Entity] = dspy.OutputField()


class Decides(dspy.Module):
    """A program of one function of the program, the facts and the question."""

    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps
        self.ask = dspy.Predict(Facts)
        self.again = dspy.Predict("question, level -> answer")
        self.routes = {"calm": dspy.Predict("question -> summary"), "angry": dspy.Predict("question -> summary")}

    def forward(self, question: str) -> Any:
        """The steps, as one answer."""
        return self.steps(self, self.ask(question=question), question)


def way(is_taken: Any) -> Any:
    """Which way a program takes."""
    return dspy.Prediction(way="yes" if is_taken else "no")


def early(p: Any, f: Any, q: Any) -> Any:
    if f.sure and (n := f.total) > 2:
        return dspy.Prediction(n=n)
    return dspy.Prediction(n=0)


def asked_twice(p: Any, f: Any, q: Any) -> Any:
    if f.sure:
        mode = p.again(question=q, level="high")
    if f.sure:
        return dspy.Prediction(answer=mode.answer)
    return dspy.Prediction(answer="none")


def narrowed(p: Any, f: Any, q: Any) -> Any:
    if f.note is not None:
        return dspy.Prediction(note=f.note.strip().upper())
    return dspy.Prediction(note=None)


def or_else(p: Any, f: Any, q: Any) -> Any:
    return dspy.Prediction(note=(f.note or "none").strip(), more=f.maybe if f.maybe is not None else 7)


def a_part_of_an_element(p: Any, f: Any, q: Any) -> Any:
    first = f.entities[0]
    if first.kind == "organization":
        return dspy.Prediction(name=first.name)
    return dspy.Prediction(name="none")


def within_a_comprehension(p: Any, f: Any, q: Any) -> Any:
    level = [p.again(question=word, level="hard" if f.sure else "easy").answer for word in f.words]
    return dspy.Prediction(answers=level)


ALIKE: dict[str, Any] = {
    "a member of an enum and its value": lambda p, f, q: way(f.mood == "calm"),
    "a member in texts": lambda p, f, q: way(f.mood in ["calm", "x"]),
    "a member in members": lambda p, f, q: way(f.mood in (Mood.CALM, "x")),
    "the same member": lambda p, f, q: way(f.mood is Mood.CALM),
    "another type than the text's": lambda p, f, q: way(f.answer != 3),
    "a bool in an order": lambda p, f, q: way(f.sure > 0),
    "a bool in an order with a number": lambda p, f, q: way(f.sure >= f.score),
    "a bool and a number": lambda p, f, q: way(f.sure == 1),
    "the same bool": lambda p, f, q: way(f.sure is True),
    "a list and a tuple": lambda p, f, q: way(f.words == ("Lima", "it's")),
    "a list and a list": lambda p, f, q: way(f.words == ["Lima", "it's"]),
    "a number among others": lambda p, f, q: way(f.total in ["9", 9]),
    "a value among values": lambda p, f, q: way(f.answer in [f.words[0], "x"]),
    "any of several": lambda p, f, q: way(any([f.answer == "x", f.sure])),
    "all of several": lambda p, f, q: way(all([f.answer == "Lima", f.score > 3])),
    "no number": lambda p, f, q: way(f.maybe is None or f.maybe > 5),
    "a key": lambda p, f, q: way("tea" in f.prices),
    "a remainder": lambda p, f, q: way(f.total % 2 == 1),
    "a flag of each way": lambda p, f, q: dspy.Prediction(flag=True) if f.sure else dspy.Prediction(flag=False),
    "a negation as an output": lambda p, f, q: dspy.Prediction(flag=f.answer == "x"),
    "a route by a dict": lambda p, f, q: p.routes[f.mood.value](question=q),
    early.__name__: early,
    asked_twice.__name__: asked_twice,
    narrowed.__name__: narrowed,
    or_else.__name__: or_else,
    a_part_of_an_element.__name__: a_part_of_an_element,
    within_a_comprehension.__name__: within_a_comprehension,
    "a text with a line at its end": lambda p, f, q: dspy.Prediction(text="a\n", mood=f.answer),
}


@pytest.mark.parametrize("steps", ALIKE.values(), ids=ALIKE.keys())
def test_a_graph_takes_the_way_that_python_takes(steps: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = Decides(steps)
    assert_alike(client, program, push(program, name, client=client), {"question": "Where?"})


def test_the_same_test_is_decided_once(client: Client, name: str) -> None:
    graph = graph_of(Decides(asked_twice), name)
    [branch] = [node for node in graph["nodes"].values() if node["strategy"] == "branch"]
    assert all(inner["strategy"] != "branch" for inner in branch["config"]["then"]["config"]["nodes"].values())


def test_inputs_of_a_part_have_names_of_their_own(client: Client, name: str, lm: dspy.LM) -> None:
    class Named(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("condition -> answer, sure: bool")

        def forward(self, condition: str, ask_answer: str, words: list[str]) -> Any:
            made = self.ask(condition=condition)
            if made.sure:
                return dspy.Prediction(text=f"{made.answer} {ask_answer} {condition}", words=[])
            return dspy.Prediction(text="none", words=words)

    program = Named()
    inputs = {"condition": "a", "ask_answer": "b", "words": ["c"]}
    assert_alike(client, program, push(program, name, client=client), inputs)


def test_what_may_raise_an_exception_does_so_before_the_decision(client: Client, name: str) -> None:
    def steps(p: Any, f: Any, q: Any) -> Any:
        first = f.words[0]
        return dspy.Prediction(way="sure") if f.sure else dspy.Prediction(way=first)

    nodes = graph_of(Decides(steps), name)["nodes"]
    assert list(nodes) == ["ask", "element_2", "branch"]


def test_the_instruction_of_an_arm_is_state(client: Client, name: str, lm: dspy.LM) -> None:
    program = Decides(asked_twice)
    first = push(program, name, client=client)
    program.again.signature = program.again.signature.with_instructions("Answer in one word.")
    assert push(program, name, client=client).graph["version"] == first.graph["version"]


REFUSED: dict[str, tuple[Any, str]] = {
    "an order of a text and a number": (
        lambda p, f, q: way(f.answer > 3),
        "compares `ask.answer`, a `str`, with an `int`. Compare its texts or numbers.",
    ),
    "an order with what may be None": (
        lambda p, f, q: way(f.total < f.maybe),
        "uses `ask.maybe`, an `Optional[int]`, as if it were never `None`.",
    ),
    "a number in a text": (
        lambda p, f, q: way(f.total in "123"),
        "compares `ask.total`, an `int`, with a `str`.",
    ),
    "sets": (lambda p, f, q: way(f.nothing == f.titles), "compares `ask.nothing`, a `set[str]`, with a `set[str]`."),
    "infinity": (
        lambda p, f, q: way(f.score < float("inf")),
        "compares `ask.score` with inf, which no expression of the server can say.",
    ),
}


@pytest.mark.parametrize(("steps", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_what_python_compares_in_another_way_is_refused(steps: Any, what: str) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Decides(steps), "refused")
    assert f": {what}" in str(refusal.value) and str(refusal.value).startswith(__file__)


def test_a_function_outside_that_only_one_way_calls_is_refused_at_its_line(name: str) -> None:
    def search(query: str) -> list[str]:
        return [query]

    class Sometimes(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer, sure: bool")

        def forward(self, question: str) -> Any:
            if self.ask(question=question).sure:
                return dspy.Prediction(found=[])
            return dspy.Prediction(found=search(question))

    with pytest.raises(CannotPush) as refusal:
        graph_of(Sometimes(), name, outside={"search": list[str]})
    assert "waits for the caller by `search` in a part of the graph" in str(refusal.value)
    assert str(refusal.value).startswith(f"{__file__}:")
