"""`push(..., strict=True)` refuses where a note says that a meaning changes, and stores nothing."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import json
from typing import Any

import dspy
import pytest
import shapes

from dsrs_client.dspy import CannotPush, graph_of, push


class NoServer:
    """A client that may send nothing."""

    def request(self, method: str, path: str, json: Any = None) -> Any:
        """A request that must not be."""
        raise AssertionError(f"{method} {path} is sent")


class Archive(dspy.Module):
    """Writes two JSON texts, returns a member on one way only, and prints a line."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer, sure: bool")

    def forward(self, question: str) -> Any:
        """Both ways."""
        found = self.ask(question=question)
        print("found", found.answer)
        first = json.dumps({"answer": found.answer})
        if found.sure:
            return dspy.Prediction(first=first, second=json.dumps([found.answer]))
        return dspy.Prediction(first=first)


def lines_with(text: str) -> list[int]:
    """The lines of this file with a text, those of this function excluded."""
    with open(__file__) as file:
        return [number for number, line in enumerate(file, 1) if text in line and "lines_with" not in line]


def test_every_changed_meaning_is_refused_at_once_at_each_of_its_lines_and_nothing_is_sent() -> None:
    with pytest.raises(CannotPush) as refusal:
        push(Archive(), "archive", client=NoServer(), strict=True)
    places = {str(reason.place) for reason in refusal.value.reasons if "json.dumps" in reason.what}
    assert places == {f"{__file__}:{line}" for line in lines_with("json.dumps({") + lines_with("second=json")}
    [way] = [reason for reason in refusal.value.reasons if "one way" in reason.what]
    assert way.what == "`second` is returned on one way of a decision only, and is no output"
    assert way.nearest == "Return it on every way." and way.place is not None
    assert str(refusal.value).count("Pass `ensure_ascii=False`.") == 2
    assert len(graph_of(Archive(), "archive")["nodes"]) > 1


def test_the_types_of_a_lone_module_are_refused_at_the_call_of_push() -> None:
    signature = dspy.Signature("question -> answer").append("guest", dspy.OutputField(), shapes.Guest)
    with pytest.raises(CannotPush) as refusal:
        graph_of(dspy.Predict(signature), "guests", strict=True)
    assert {str(reason.place) for reason in refusal.value.reasons} == {
        f"{__file__}:{line}" for line in lines_with('"guests", strict=True')
    }
    assert len(refusal.value.reasons) == 4
    assert all(reason.nearest for reason in refusal.value.reasons)


def test_models_settings_and_adapters_that_change_prompts_are_refused() -> None:
    class Own(dspy.ChatAdapter):
        """An adapter of the program."""

    program = dspy.Predict("question -> answer", logprobs=True)
    program.lm = dspy.LM("openai/gpt-4o")
    with dspy.context(adapter=Own()), pytest.raises(CannotPush) as refusal:
        graph_of(program, "asked", strict=True)
    assert [reason.nearest for reason in refusal.value.reasons] == [
        "Configure `dspy.ChatAdapter`.",
        "Remove them, or set them for the model of the server (docs/models.md).",
        "Say which alias it is: `models={'openai/gpt-4o': 'default'}`.",
    ]


def test_a_demo_that_is_left_out_is_refused() -> None:
    program = dspy.Predict("question, context -> answer")
    program.demos = [dspy.Example(question="Capital of Peru?", answer="Lima")]
    with pytest.raises(CannotPush, match=r"lack an input and are left out\. Complete the demos, or remove them\."):
        graph_of(program, "demos", strict=True)


class Harmless(dspy.Module):
    """Has notes that change no answer: a bound, and an adapter that is another notation."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> words: list[str]")
        self.shorten = dspy.Predict("earlier, text -> summary")

    def forward(self, question: str) -> Any:
        """A loop."""
        summary = ""
        for word in self.ask(question=question).words:
            summary = self.shorten(earlier=summary, text=word).summary
        return dspy.Prediction(summary=summary)


def test_notes_that_change_no_answer_are_not_refused() -> None:
    with dspy.context(adapter=dspy.JSONAdapter()):
        assert "loop" in str(graph_of(Harmless(), "harmless", strict=True))


def test_completions_with_the_temperature_of_both_sides_are_not_refused() -> None:
    with pytest.raises(CannotPush, match=r"Set `temperature=1\.0`"):
        graph_of(dspy.Predict("question -> answer", n=3), "several", strict=True)
    assert graph_of(dspy.Predict("question -> answer", n=3, temperature=1.0), "several", strict=True)
