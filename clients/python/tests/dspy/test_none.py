"""`None` in an `Optional` input reaches the prompt of a graph where it reaches that of DSPy."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any, Optional

import dspy
import pytest
from alike import assert_alike
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


class Hinted(dspy.Signature):
    """Answer the question."""

    question: str = dspy.InputField()
    hint: Optional[str] = dspy.InputField()
    answer: str = dspy.OutputField()


class Base(dspy.Module):
    """Has the predictor."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict(Hinted)


class Constant(Base):
    """Passes `None`."""

    def forward(self, question: str) -> Any:
        """The call."""
        return self.ask(question=question, hint=None)


class Default(Base):
    """Has `None` as the default of a parameter."""

    def forward(self, question: str, hint: Optional[str] = None) -> Any:
        """The call."""
        return self.ask(question=question, hint=hint)


class Given(Base):
    """Passes what its caller passes."""

    def forward(self, question: str, hint: Optional[str]) -> Any:
        """The call."""
        return self.ask(question=question, hint=hint)


class Declared(dspy.Module):
    """Leaves out what the signature has a default for."""

    def __init__(self) -> None:
        super().__init__()
        hint = dspy.InputField(default=None)
        self.ask = dspy.Predict(dspy.Signature("question -> answer").append("hint", hint, Optional[str]))

    def forward(self, question: str) -> Any:
        """The call."""
        return self.ask(question=question)


class LeftOut(Base):
    """Leaves out an input without a default."""

    def forward(self, question: str) -> Any:
        """The call."""
        return self.ask(question=question)


CASES: dict[Any, dict[str, Any]] = {
    Constant: {}, Default: {}, Given: {"hint": None}, Declared: {},
}  # fmt: skip


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_none_is_in_the_prompt(program: Any, client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    made = program()
    push(made, name, client=client)
    inputs = {"question": "Where?", **CASES[program]}
    assert run(name, inputs) == made(**inputs).toDict()
    assert "[[ ## hint ## ]]\nNone" in lm.history[-1]["messages"][-1]["content"]
    [item] = client.request("GET", f"/v1/runs?graph={name}")["items"]
    spans = client.request("GET", f"/v1/runs/{item['id']}")["trace"]["spans"]
    [asked] = [span for span in spans if span["kind"] == "lm"]
    assert "[[ ## hint ## ]]\nnull" in asked["messages"][-1]["content"]


def test_a_text_in_an_optional_input_is_itself(client: Client, name: str, lm: dspy.LM) -> None:
    made = Given()
    assert_alike(client, made, push(made, name, client=client), {"question": "Where?", "hint": "South."})


def test_an_input_that_dspy_leaves_out_of_the_prompt_is_refused() -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(LeftOut(), "refused")
    line = LeftOut.forward.__code__.co_firstlineno + 2
    reason = "calls a predictor without its input `hint`: DSPy leaves it out of the prompt. Pass `hint=None`."
    assert str(refusal.value) == f"{__file__}:{line}: {reason}"
