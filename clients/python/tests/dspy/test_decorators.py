"""Decorators of libraries: those that watch are left out and noted, any other one is refused by name and line."""
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False, disable-error-code="no-any-return"

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from alike import assert_alike

import dsrs_client.dspy.place as place
from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push

LIBRARY = """
import functools

def watch(function=None, **options):
    if function is None:
        return functools.partial(watch, **options)
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)
    return wrapper

class Watched:
    def __init__(self, function):
        functools.update_wrapper(self, function)
    def __get__(self, owner, kind=None):
        return functools.partial(self, owner)
    def __call__(self, *arguments, **named):
        return self.__wrapped__(*arguments, **named)
"""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Makes a library of a name."""
    monkeypatch.setattr(place, "LIBRARIES", (*place.LIBRARIES, str(tmp_path)))

    def make(name: str) -> Any:
        file = tmp_path / name.replace(".", "_") / "fluent.py"
        file.parent.mkdir()
        file.write_text(LIBRARY)
        module = types.ModuleType(f"{name}.tracing.fluent")
        module.__file__ = str(file)
        exec(compile(LIBRARY, str(file), "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module

    yield make


def program(decorate: Any) -> Any:
    """A program whose `forward` and whose helper are decorated."""

    class Decorated(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        @decorate
        def polite(self, question: str) -> str:
            return f"{question} Please."

        @decorate
        def forward(self, question: str) -> Any:
            return self.ask(question=self.polite(question))

    return Decorated()


@pytest.mark.parametrize("name", ["mlflow", "weave", "langfuse", "opentelemetry"])
def test_a_decorator_that_watches_is_left_out_and_noted(
    name: str, library: Any, client: Client, lm: dspy.LM, request: pytest.FixtureRequest
) -> None:
    made = program(library(name).watch(kind="step"))
    pushed = push(made, request.getfixturevalue("name"), client=client)
    assert_alike(client, made, pushed, {"question": "Where?"})
    assert pushed.notes == [
        f"the decorator of `program.<locals>.Decorated.forward` ({name}) is left out",
        f"the decorator of `program.<locals>.Decorated.polite` ({name}) is left out",
    ]


class Forgives(contextlib.ContextDecorator):
    """A context that suppresses failures."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *failure: object) -> bool:
        return True


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """A context that suppresses none."""
    yield


def test_a_context_that_decorates_is_entered(client: Client, name: str, lm: dspy.LM) -> None:
    made = program(timed())
    pushed = push(made, name, client=client)
    assert_alike(client, made, pushed, {"question": "Where?"})
    assert pushed.notes == []
    settings = graph_of(program(dspy.context(lm=dspy.LM("openai/small", temperature=0.2))), "settings")
    assert settings["nodes"]["ask"]["lm"] == {"temperature": 0.2}


def test_a_context_that_decorates_and_suppresses_is_refused() -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(program(Forgives()), "refused")
    assert refusal.value.reasons[0].what == "catches the failure of a predictor"


def test_any_other_decorator_is_refused_by_name_and_line(library: Any) -> None:
    made = program(library("shouting").watch)
    with pytest.raises(CannotPush) as refusal:
        graph_of(made, "refused")
    place = refusal.value.reasons[0].place
    what = "`program.<locals>.Decorated.forward` has a decorator of `shouting`, which may change what it returns"
    assert refusal.value.reasons[0].what == what and place is not None
    assert Path(place.file) == Path(__file__)
    assert Path(__file__).read_text().splitlines()[place.line - 1].strip() == "@decorate"


def test_an_object_of_a_library_is_refused_too(library: Any) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(program(library("shouting").Watched), "refused")
    assert "Decorated" in str(refusal.value) and str(refusal.value).startswith(__file__)


class Cached(dspy.Module):
    """Asks twice by a cached method, and writes a text by a cached function."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer")

    @functools.cache  # noqa: B019
    def find(self, question: str) -> Any:
        """One answer for each question."""
        return self.ask(question=question).answer

    def forward(self, question: str) -> Any:
        """The same question twice."""
        return dspy.Prediction(first=self.find(polite(question)), second=self.find(polite(question)))


@functools.lru_cache(maxsize=8)
def polite(question: str) -> str:
    """A text, which is the same with and without the cache."""
    return f"{question} Please."


def test_a_cache_around_a_predictor_is_noted_and_one_around_a_text_is_not() -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Cached(), "cached", strict=True)
    [*reasons] = refusal.value.reasons
    assert {reason.what for reason in reasons} == {
        "the cache of `Cached.find` is left out: its predictors run in each call"
    }
    assert len(graph_of(Cached(), "cached")["nodes"]) == 4


def retried(function: Any) -> Any:
    """Calls again what fails."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for attempt in range(3):
            try:
                return function(*arguments, **named)
            except Exception:
                if attempt == 2:
                    raise

    return call


def test_a_failure_that_is_raised_again_is_refused_by_its_line() -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(program(retried), "retried")
    [reason] = refusal.value.reasons
    assert reason.what == "raises a caught exception again" and reason.place is not None
    assert Path(__file__).read_text().splitlines()[reason.place.line - 1].strip() == "raise"


def shouted(prefix: str) -> Any:
    """A decorator of the program with an argument, which changes both sides of a call."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def call(self: Any, question: str) -> Any:
            return dspy.Prediction(answer=function(self, question=prefix + question).answer.upper())

        return call

    return decorate


def test_a_decorator_of_the_program_is_its_code(client: Client, name: str, lm: dspy.LM) -> None:
    class Loud(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        @shouted("Q: ")
        def forward(self, question: str) -> Any:
            return self.ask(question=question)

    pushed = push(Loud(), name, client=client)
    assert assert_alike(client, Loud(), pushed, {"question": "Where?"}) == {"answer": "LIMA"}
