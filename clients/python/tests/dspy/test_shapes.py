"""Code that replaces `forward`, settings around it, and what DSPy checks and a graph does not."""

from __future__ import annotations

import datetime
import inspect
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import dspy
import pytest
import shapes
from alike import assert_alike
from conftest import Run
from dspy.adapters.types.decision import Choice, Noul

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


def replaced(forward: Any) -> Any:
    """A program whose `forward` somebody has set."""
    program: Any = shapes.Asks()
    program.forward = forward if forward is not shapes.politely else types.MethodType(forward, program)
    return program


ALIKE = {
    "a replaced forward": lambda: replaced(shapes.politely),
    "a module with a `__call__` and a predictor with a `forward`": shapes.Holds,
    "a decorated forward": shapes.Decorated,
}


@pytest.mark.parametrize("make", ALIKE.values(), ids=ALIKE.keys())
def test_code_that_replaces_forward_is_followed(make: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = make()
    assert_alike(client, program, push(program, name, client=client), {"question": "Where"})


def test_the_inputs_of_a_program_with_a_call_of_its_own_are_those_of_the_call(
    client: Client, run: Run, name: str, lm: dspy.LM
) -> None:
    assert graph_of(shapes.Calls(), "called", inputs={"topic": str})["edges"][0]["from"] == "input.topic"
    with pytest.raises(CannotPush) as refusal:
        graph_of(shapes.Calls(), "called")
    assert "`*more` does not name the inputs" in str(refusal.value)


def test_a_cached_forward_is_the_function_itself() -> None:
    assert list(graph_of(shapes.Cached(), "cached")["nodes"]) == ["ask"]


def test_a_forward_that_an_optimizer_of_dspy_has_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dspy.teleprompt.knn_fewshot.KNN", lambda *_, **__: None)
    program = dspy.KNNFewShot(k=1, trainset=[], vectorizer=None).compile(shapes.Asks())
    with pytest.raises(CannotPush) as refusal:
        graph_of(program, "knn")
    [reason] = refusal.value.reasons
    assert reason.what == (
        "`forward` of `Asks` is replaced by `KNNFewShot.compile.<locals>.forward_pass`, code of a library"
    )
    assert (
        reason.place is not None
        and "class Asks" in Path(shapes.__file__).read_text().splitlines()[reason.place.line - 1]
    )


def test_settings_of_a_context_are_settings_of_the_node_and_an_adapter_is_noted(client: Client, name: str) -> None:
    pushed = push(shapes.InContext(), name, client=client)
    settings = pushed.graph["nodes"]["ask"]["lm"]
    assert (settings["temperature"], settings["max_tokens"]) == (0.2, 9)
    assert pushed.notes == [
        "the adapter `JSONAdapter` is left out; the server has its own",
        "the model `openai/small` is not taken over; nodes use the alias `default`",
    ]


def test_settings_of_the_configured_model_are_noted(client: Client, name: str) -> None:
    with dspy.context(lm=dspy.LM("openai/o4-mini", temperature=1.0, max_tokens=20000)):
        pushed = push(shapes.Asks(), name, client=client)
    assert pushed.notes == ["settings of the configured model are not taken over: temperature=1.0, max_tokens=20000"]


def test_the_limit_of_a_reasoning_model_is_the_limit_of_the_node() -> None:
    program = dspy.Predict("question -> answer")
    program.lm = dspy.LM("openai/o4-mini", temperature=1.0, max_tokens=20000)
    assert "max_completion_tokens" in program.lm.kwargs
    assert graph_of(program, "asked")["nodes"]["predict"]["lm"] == {"temperature": 1.0, "max_tokens": 20000}


def test_what_pydantic_checks_and_a_graph_does_not_is_noted(client: Client, name: str) -> None:
    signature = dspy.Signature("question -> answer")
    signature = signature.append("guest", dspy.OutputField(), shapes.Guest)
    signature = signature.append("when", dspy.OutputField(), datetime.date)
    assert push(dspy.Predict(signature), name, client=client).notes == [
        "the validators of `Guest` are left out: `has_two_names`",
        "members that `Guest` does not declare (`extra='forbid'`) do not fail an answer",
        "settings of `Guest` are left out: `str_strip_whitespace`",
        "the validators of `Guest.age` are left out",
        "the format `date` of `when` is not checked: it is a text in the graph",
    ]


def test_a_forward_that_is_no_function_is_refused_at_its_class() -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(shapes.Partly(), "partly")
    [reason] = refusal.value.reasons
    assert str(reason).endswith(
        ": `forward` of `Partly` is a `partial`, no function of the program. Define it with `def`."
    )
    lines = Path(shapes.__file__).read_text().splitlines()
    assert reason.place is not None and "class Partly" in lines[reason.place.line - 1]


DECISIONS = {
    "several": (
        lambda: shapes.decides(list[Noul]),
        "field `blocked` has the type `Noul` of DSPy, which a graph does not have.",
    ),
    "an option": (
        lambda: shapes.decides(Choice[("yes", "rude"), (None, "unclear")]),
        "decides `blocked` between options one of which is `None`. Name it by a text.",
    ),
}


@pytest.mark.parametrize(("make", "what"), DECISIONS.values(), ids=DECISIONS.keys())
def test_decisions_that_no_node_makes_are_refused(make: Any, what: str) -> None:
    class Decides(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.decide = make()

        def forward(self, question: str) -> Any:
            return self.decide(question=question)  # here

    with pytest.raises(CannotPush) as refusal:
        graph_of(Decides(), "decides")
    [reason] = refusal.value.reasons
    assert str(reason).endswith(f": {what}") or what in str(reason)
    assert reason.place is not None and "# here" in Path(__file__).read_text().splitlines()[reason.place.line - 1]


PACKAGE = """
import dspy

def polite(question):
    return f"Please: {question}"

class Installed(dspy.Module):
    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("question -> answer")

    def forward(self, question: str):
        return self.ask(question=polite(question))
"""


def test_a_program_of_an_installed_package_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package beside DSPy's own: in the directory of libraries of a Python that has nothing else."""
    package = tmp_path / "installed_programs"
    package.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    check = inspect.cleandoc(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from dsrs_client.dspy import graph_of, place
        place.LIBRARIES = (*place.LIBRARIES, {str(tmp_path)!r})
        from installed_programs import Installed
        print(sorted(graph_of(Installed(), "installed")["nodes"]))
        """
    )
    made = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert made.stdout == "['ask', 'render']\n", made.stderr
