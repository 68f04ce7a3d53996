"""A reward as an expression has the number that its Python function returns, and fails where that raises."""

# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Optional

import dspy
import pytest

from dsrs_client import Client, Problem
from dsrs_client.dspy import CannotPush, graph_of, push

LIMIT = 20
ALLOWED = {"Lima", "Cusco"}


class Mood(Enum):
    """How somebody feels."""

    CALM = "calm"
    ANGRY = "angry"


class Judged(dspy.Signature):
    """Write down the facts."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    words: list[str] = dspy.OutputField()
    nothing: list[str] = dspy.OutputField()
    number: str = dspy.OutputField()
    about: str = dspy.OutputField()
    decimal: float = dspy.OutputField()
    maybe: Optional[int] = dspy.OutputField()
    prices: dict[str, float] = dspy.OutputField()
    mood: Mood = dspy.OutputField()


def at_most(limit: int) -> Callable[[Any, Any], float]:
    """A reward with a name of the function around it."""
    LIMIT = limit
    return lambda args, pred: float(len(pred.answer) <= LIMIT)


def branches(args: dict[str, Any], pred: Any, weight: float = 0.5) -> float:
    """Several statements."""
    first = pred.words[0]
    if not first.startswith(("l", "L")):
        return 0.0
    return weight * (first == pred.answer) + (pred.maybe is None) / 4


def adds_up(args: dict[str, Any], pred: Any) -> float:
    """A score of parts."""
    score = 0.0
    least = 3
    if len(pred.answer) > least:
        score += 0.5
    elif pred.answer:
        score += 0.125
    if re.search(r"\d+", pred.about):
        score += 0.25
    else:
        score -= 1
    if not any(word in pred.answer for word in ALLOWED):
        score = 0.0
    return score


EQUAL: dict[str, Any] = {
    "a score of parts": adds_up,
    "any of some words": lambda args, pred: float(any(word in pred.answer for word in ["Lim", "x"])),
    "all of some words": lambda args, pred: float(all(word.lower() in pred.about for word in ("About", "12", "no"))),
    "a sum over words": lambda args, pred: sum(0.25 for word in ["L", "i", "x"] if word in pred.answer),
    "a number of words": lambda args, pred: len([word for word in ALLOWED if word == pred.answer]) / 4,
    "a sum of tests": lambda args, pred: sum(word in pred.answer for word in ["L", "i", "x"]) / 3,
    "a pattern": lambda args, pred: 0.75 if re.match(r"[a-z]+ \d+$", pred.about, re.IGNORECASE) else 0.0,
    "a slice": lambda args, pred: float(pred.answer[:2] == "Li"),
    "the end of a slice": lambda args, pred: float(pred.answer[-2:] == "ma"),
    "a slice of the inputs": lambda args, pred: float(args["question"][:3] == "Whe"),
    "one of several beginnings": lambda args, pred: float(pred.answer.startswith(("Bo", "Li"))),
    "one of several ends": lambda args, pred: float(pred.answer.endswith(("x", "y"))),
    "a number in a text": lambda args, pred: int(pred.number) / 24,
    "a whole number": lambda args, pred: int(pred.decimal),
    "a float of a text": lambda args, pred: float(pred.number) / 10,
    "tests as numbers": lambda args, pred: (pred.answer == "Lima") + ("x" in pred.answer) + True,
    "an element": lambda args, pred: float(pred.words[-1] == "it's"),
    "a letter": lambda args, pred: float(pred.answer[0] == "L" and pred.answer[-1] == "a"),
    "a key": lambda args, pred: pred.prices["tea"],
    "a key with a default": lambda args, pred: pred.prices.get("milk", 0.25),
    "one of a constant set": lambda args, pred: float(pred.answer in ALLOWED),
    "a constant": lambda args, pred: len(pred.answer) / LIMIT,
    "a constant of the function around it": at_most(3),
    "a member of an enum": lambda args, pred: float(pred.mood.value == "calm"),
    "division with a positive divisor": lambda args, pred: (len(pred.answer) - 7) // 2 + (len(pred.answer) - 7) % 2,
    "statements": branches,
    # Not expressions, but traced as a program is.
    "any of the run's words": lambda args, pred: float(any(len(word) > 3 for word in pred.words)),
    "a member of an enum and its value": lambda args, pred: float(pred.mood == "calm"),
    "the text of a float": lambda args, pred: float(str(pred.decimal) == "3.7"),
}


def reward_of(client: Client, name: str, reward: Any) -> float | None:
    """The reward of the one attempt; none if it fails."""
    push(dspy.BestOfN(dspy.Predict(Judged), N=1, reward_fn=reward, threshold=99.0), name, client=client)
    with contextlib.suppress(Problem):
        client.request("POST", f"/v1/graphs/{name}/execute", {"inputs": {"question": "Where?"}})
    [run] = client.request("GET", f"/v1/runs?graph={name}")["items"]
    spans = client.request("GET", f"/v1/runs/{run['id']}")["trace"]["spans"]
    [attempt] = [span for span in spans if span["kind"] == "attempt"]
    reward_of_attempt: float | None = attempt.get("reward")
    return reward_of_attempt


@pytest.mark.parametrize("reward", EQUAL.values(), ids=EQUAL.keys())
def test_the_reward_of_an_attempt_is_what_the_function_returns(
    reward: Any, client: Client, name: str, lm: dspy.LM
) -> None:
    prediction = dspy.Predict(Judged)(question="Where?")
    assert reward_of(client, name, reward) == pytest.approx(float(reward({"question": "Where?"}, prediction)))


FAILING: dict[str, Any] = {
    "a fraction as a whole number": lambda args, pred: int(pred.number + ".7"),
    "words as a whole number": lambda args, pred: int(pred.about),
    "an element of none": lambda args, pred: float(pred.nothing[0] == "x"),
    "a missing key": lambda args, pred: pred.prices["milk"],
    "a comparison with None": lambda args, pred: float(pred.maybe > 3),
}


@pytest.mark.parametrize("reward", FAILING.values(), ids=FAILING.keys())
def test_an_attempt_fails_where_the_function_raises(reward: Any, client: Client, name: str, lm: dspy.LM) -> None:
    assert reward_of(client, name, reward) is None
    with pytest.raises((ValueError, IndexError, KeyError, TypeError)):
        reward({"question": "Where?"}, dspy.Predict(Judged)(question="Where?"))


REFUSED: dict[str, tuple[Any, str]] = {
    "rounding": (lambda args, pred: round(pred.decimal), "`round(pred.decimal)`, which no expression"),
    "an unknown divisor": (
        lambda args, pred: 7 // len(pred.words),
        "`7 // len(pred.words)`, which the server computes in another way if the divisor is negative",
    ),
}


@pytest.mark.parametrize(("reward", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_what_an_expression_computes_in_another_way_is_refused(reward: Any, what: str) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(dspy.BestOfN(dspy.Predict(Judged), N=1, reward_fn=reward, threshold=1.0), "refused")
    assert what in str(refusal.value) and str(refusal.value).startswith(f"{__file__}:")
