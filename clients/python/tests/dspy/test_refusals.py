"""What a graph cannot say is refused with its file, its line and the nearest op."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import inspect
from typing import Any

import dspy
import pytest
import refused

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push

BRANCH = "Nearest: `branch` (docs/strategies.md#branch)."
RENDER = "Nearest: `render` (docs/strategies.md#render)."
OUTSIDE = (
    "Nearest: `call` (docs/strategies.md#call), by `tools=` of `push`, or `await` (docs/strategies.md#await), by "
    "`outside=`."
)
CASES: dict[Any, str] = {
    refused.LoopsOverAList: ("uses the result of `element` as a key. Nearest: `select` (docs/strategies.md#select)."),
    refused.LoopsUntilItIsSure: (
        "decides more than 8 times in a row by values of a run, or has more than 32 ways. "
        "Nearest: `loop` (docs/strategies.md#loop)."
    ),
    refused.WritesATitle: f"`.title` of `ask.answer`, a `str`, is not a part that an edge can select. {RENDER}",
    refused.CallsALibrary: f"calls `fill`, which is Python code, with a value of the run. {OUTSIDE}",
    refused.CallsAFunctionOfItsOwn: f"calls `open`, which is Python code, with a value of the run. {OUTSIDE}",
    refused.ChecksAType: f"branches on the type of `ask.note`. {BRANCH}",
    refused.WritesATupleIntoAText: f"writes a `tuple` of values of the run into a text. {RENDER}",
    refused.FormatsWithPercent: (
        "writes `ask.answer`, a `str`, with `%a`. Nearest: `format` (docs/strategies.md#format)."
    ),
    refused.CatchesAFailure: ("catches the failure of a predictor. Nearest: `try` (docs/strategies.md#try)."),
    refused.ReturnsAText: "`forward` returns a value, which has no name; return `dspy.Prediction(answer=…)`.",
    refused.TakesAnything: "`*inputs` does not name the inputs. Name them: `inputs={'question': str}`.",
    refused.MakesAPredictor: (
        "calls a module that is no attribute of the program; make it in `__init__`, where its state is stored."
    ),
    refused.LeavesAnInputOut: "calls a predictor without its input `question`.",
    refused.AsksForCompletions: (
        "asks for 3 completions of one call. Nearest: `parallel` (docs/strategies.md#parallel)."
    ),
    refused.UsesAPart: f"`.headline` of `ask.answer`, a `str`, is not a part that an edge can select. {RENDER}",
    refused.UsesAnotherOutput: (
        "`return self.again(question=self.again(question=question).missing)  # here` fails when it is "
        "traced: AttributeError: 'Prediction' object has no attribute 'missing'."
    ),
    refused.UsesAKey: (
        "uses `ask.answer` as a key of a dict that may lack it. Use `if`, or a `Literal`. "
        "Nearest: `branch` (docs/strategies.md#branch)."
    ),
    refused.UsesAnImage: "field `image` has the type `Image` of DSPy, which a graph does not have.",
    refused.UsesTwoModels: (
        "uses several models (`openai/small`, `openai/large`). Say which alias each is: "
        "`models={'openai/large': 'default'}`."
    ),
    refused.RewardsByALibrary: (
        "the reward `parses` has `json`, which is neither an input, an output nor a constant. Nearest: a "
        "reward of the server (docs/strategies.md#rewards): `rewards={'parses': {'expression': '…'}}`."
    ),
    refused.AttemptsAProgram: ("`forward` returns a value, which has no name; return `dspy.Prediction(answer=…)`."),
    refused.ActsWithAFunction: (
        "the tool `lookup` is a Python function, which a graph cannot call. Name a tool of the server: "
        "`tools={'lookup': {'http': {'method': 'GET', 'url': '…'}}}` (docs/tools.md), or let the caller answer it: "
        "`outside={'lookup': str}`."
    ),
}
CASES[refused.ActsInTurnsWithAFunction] = CASES[refused.ActsWithAFunction]


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_what_a_graph_cannot_say_is_refused_at_its_line(program: Any) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(program(), "refused")
    [reason] = refusal.value.reasons
    assert reason.place is not None
    assert str(refusal.value) == f"{refused.__file__}:{reason.place.line}: {CASES[program]}"
    assert "# here" in inspect.getsource(refused).splitlines()[reason.place.line - 1]


def test_a_type_that_does_not_fit_is_refused_by_the_server_at_the_line_of_the_call(client: Client, name: str) -> None:
    with pytest.raises(CannotPush) as refusal:
        push(refused.PassesAListToAText(), name, client=client)
    [reason] = refusal.value.reasons
    assert reason.place is not None
    assert reason.what == (
        "the server refuses it: `ask.words` is `list[str]`, `typed.question` accepts `str`: "
        "list[str] is not assignable to str (type_mismatch)"
    )
    assert "# here" in inspect.getsource(refused).splitlines()[reason.place.line - 1]


def test_no_except_of_a_program_hides_a_refusal() -> None:
    class Hides(refused.Ask):
        def forward(self, question: str) -> dspy.Prediction:
            first = self.ask(question=question)
            try:
                return self.again(question=first.answer.title())
            except:  # noqa: E722
                return first

    with pytest.raises(CannotPush) as refusal:
        graph_of(Hides(), "hides")
    assert "`.title` of `ask.answer`" in str(refusal.value)


def test_modules_work_as_before_after_a_refusal(lm: dspy.LM) -> None:
    with pytest.raises(CannotPush):
        graph_of(refused.LoopsUntilItIsSure(), "refused")
    assert dspy.Predict("question -> answer")(question="Capital of Peru?").answer == "Lima"
