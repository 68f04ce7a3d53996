"""Globals of a program: constants are right, and what changes from call to call is refused and taken back."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest
from alike import assert_alike
from small_python import Small

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push

STYLE = "brief"
LIMITS: dict[str, Any] = {"words": 5, "never": ["lists"]}
ASKED: list[Any] = []
COUNT = 0
SEEN: dict[str, Any] = {}


def constants(program: Any, question: str) -> Any:
    """Uses constants."""
    return program.again(question=f"{question} In {LIMITS['words']} words, {STYLE}, no {LIMITS['never']}.").answer


def counts(program: Any, question: str) -> Any:
    """Counts its calls in the prompt."""
    global COUNT
    COUNT += 1
    return program.again(question=f"{COUNT}: {question}").answer


def remembers(program: Any, question: str) -> Any:
    """Shows what it was asked before."""
    ASKED.append(question)
    return program.again(question=str(len(ASKED))).answer


def caches(program: Any, question: str) -> Any:
    """Makes something once."""
    SEEN.setdefault("answer", program.again(question=question))
    return SEEN["answer"].answer


def records(program: Any, question: str) -> Any:
    """Writes down what it was asked, and uses nothing of it."""
    ASKED.append(question)
    return program.again(question=question).answer


def test_constants_are_in_the_prompt(client: Client, name: str, lm: dspy.LM) -> None:
    program = Small(constants)
    pushed = push(program, name, client=client)
    assert_alike(client, program, pushed, {"question": "Where?"})
    assert "In 5 words, brief, no ['lists']." in lm.history[-1]["messages"][-1]["content"]


CHANGING = {counts: "`COUNT`", remembers: "`ASKED`", caches: "`SEEN`"}


@pytest.mark.parametrize("steps", CHANGING, ids=lambda steps: str(steps.__name__))
def test_a_global_that_changes_from_call_to_call_is_refused_and_taken_back(steps: Any) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Small(steps), "refused")
    assert f"the global {CHANGING[steps]} changes from call to call" in str(refusal.value)
    assert str(refusal.value).startswith(str(Path(__file__).parent))
    assert (COUNT, ASKED, SEEN) == (0, [], {})


def test_what_a_trace_adds_to_a_global_is_taken_back() -> None:
    ASKED.append("before")
    try:
        assert list(graph_of(Small(records), "records")["nodes"]) == ["again"]
        assert ASKED == ["before"]
    finally:
        ASKED.clear()
