"""Elements, numbers and texts: a graph has the value that Python has, and fails where Python raises an exception."""

from __future__ import annotations

from typing import Any

import dspy
import pytest
from alike import assert_alike
from small_python import Level, Small

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, RunFailed, answer, graph_of, push

# ruff: noqa: UP032

ALIKE: dict[str, Any] = {
    "the last element": lambda p, q: p.ask(question=q).words[-1],
    "an element of a dict": lambda p, q: f"{p.ask(question=q).prices['tea']}",
    "a number in a text": lambda p, q: f"{int(p.ask(question=q).number) + 1}",
    "a whole number of a float": lambda p, q: f"{int(p.ask(question=q).decimal)}",
    "a small float": lambda p, q: f"{p.ask(question=q).tiny} {p.ask(question=q).tiny:>8}",
    "str() of a float": lambda p, q: str(p.ask(question=q).tiny),
    "None": lambda p, q: f"Note: {p.ask(question=q).maybe}",
    "a bool": lambda p, q: "{}".format(p.ask(question=q).sure),
    "a list": lambda p, q: f"{p.ask(question=q).words} and {p.ask(question=q).prices}",
    "repr() of a text": lambda p, q: f"{p.ask(question=q).words[1]!r}",
    "a list of values": lambda p, q: f"{[p.ask(question=q).answer]}",
    "a member of an enum": lambda p, q: f"{p.ask(question=q).mood}",
    "the value of a member": lambda p, q: p.ask(question=q).mood.value,
    "the name of a member": lambda p, q: p.ask(question=q).mood.name,
    "a map over values": lambda p, q: ", ".join(map(str, [p.ask(question=q).tiny, 1.5])),
    "the greatest first": lambda p, q: sorted(p.ask(question=q).words, reverse=True),
    "the lines of a text": lambda p, q: p.ask(question=f"{q}\nWhen?\r\n\nWho?").answer.splitlines(),
}


@pytest.mark.parametrize("steps", ALIKE.values(), ids=ALIKE.keys())
def test_a_graph_has_the_value_that_python_has(steps: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = Small(steps)
    assert_alike(client, program, push(program, name, client=client), {"question": "Where?"})


TEXTS = [
    "",
    "\n",
    "one",
    "one\n\ntwo\r\nthree\rfour\n",
    "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i",
    " a \r\n\t'b' \"c\" \\ {{ d }} é",
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_lines_end_where_they_end_in_python(text: str, client: Client, name: str, lm: dspy.LM) -> None:
    program = Small(lambda p, q: [p.again(question="Where?").answer, q.splitlines()][1])
    pushed = push(program, name, client=client, inputs={"question": str})
    assert assert_alike(client, program, pushed, {"question": text}) == {"made": text.splitlines()}


FAILING: dict[str, Any] = {
    "the first of none": lambda p, q: p.ask(question=q).nothing[0],
    "the last of none": lambda p, q: p.ask(question=q).nothing[-1],
    "the third of two": lambda p, q: p.again(question=p.ask(question=q).words[2]).answer,
    "a missing key": lambda p, q: f"{p.ask(question=q).prices['milk']}",
    "a number with words": lambda p, q: f"{int(p.ask(question=q).about)}",
    "a float with words": lambda p, q: f"{float(p.ask(question=q).about)}",
    "a part of None": lambda p, q: p.ask(question=q).person.name,
}


@pytest.mark.parametrize("steps", FAILING.values(), ids=FAILING.keys())
def test_a_graph_fails_where_python_raises_an_exception(steps: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = Small(steps)
    push(program, name, client=client)
    with pytest.raises(RunFailed) as failure:
        answer(name, {"question": "Where?"}, {}, client=client)
    assert failure.value.run["error"]["code"] in ("op_failed", "parse_error")
    with pytest.raises((IndexError, KeyError, ValueError, AttributeError)):
        program(question="Where?")


REFUSED: dict[str, tuple[Any, str]] = {
    "a method of what may be None": (
        lambda p, q: p.ask(question=q).note.strip(),
        "`.strip` of `ask.note`, an `Optional[str]`, is not a part that an edge can select.",
    ),
    "a sum with what may be None": (
        lambda p, q: "Note: " + p.ask(question=q).note,
        "adds `ask.note`, an `Optional[str]`, as if it were never `None`.",
    ),
    "a class in a text": (
        lambda p, q: f"{p.ask(question=q).person}",
        "writes `ask.person`, an `Optional[Person]`, into a text: the graph writes it in another notation.",
    ),
    "a precision without a letter": (
        lambda p, q: f"{p.ask(question=q).decimal:.3}",
        "formats `ask.decimal` with `.3`, which has no type letter such as `f`.",
    ),
    "one letter of a text": (
        lambda p, q: p.ask(question=q).answer[0],
        "`[0]` of `ask.answer`, a `str`, is not a part that an edge can select.",
    ),
    "lines with their ends": (
        lambda p, q: p.ask(question=q).answer.splitlines(True),
        "calls `.splitlines` of `ask.answer` and retains the ends of lines. Nearest: `render`",
    ),
    "joined numbers": (
        lambda p, q: ", ".join([p.ask(question=q).tiny]),
        "joins `ask.tiny`, a `float`, which is no text.",
    ),
}


@pytest.mark.parametrize(("steps", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_graph_would_compute_in_another_way_is_refused(steps: Any, what: str) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Small(steps), "refused")
    assert f": {what}" in str(refusal.value) and str(refusal.value).startswith(__file__)


def test_a_member_of_an_enum_of_numbers_is_written_as_python_writes_it() -> None:
    signature = dspy.Signature("question -> answer").append("level", dspy.OutputField(), Level)

    class Writes(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict(signature)

        def forward(self, question: str) -> Any:
            return dspy.Prediction(level=f"{self.ask(question=question).level!s}")

    template = graph_of(Writes(), "written")["nodes"]["render"]["config"]["template"]
    assert template.endswith("{% if value == 1 %}{{ '1' }}{% elif value == 2 %}{{ '2' }}{% endif %}")
