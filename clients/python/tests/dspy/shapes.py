"""Modules whose code is elsewhere than in the `forward` of their class."""
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False, disable-error-code="no-any-return"

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

import dspy
from pydantic import AfterValidator, BaseModel, ConfigDict, field_validator


class Asks(dspy.Module):
    """Asks once."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        """The call."""
        return self.ask(question=question)


def politely(module: Any, question: str) -> Any:
    """Another `forward`."""
    return module.ask(question=f"Please: {question}")


class Calls(Asks):
    """Has a `__call__` of its own."""

    def __call__(self, topic: str, **more: Any) -> Any:
        """Makes a question of a topic."""
        return super().__call__(question=f"What is {topic}?")


class Shouts(dspy.Predict):
    """A predictor with a `forward` of its own."""

    def forward(self, **inputs: Any) -> Any:
        """The predictor, in capital letters."""
        made = super().forward(**inputs)
        return dspy.Prediction(answer=made.answer.upper())


class Holds(dspy.Module):
    """Has one of each."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = Calls()
        self.shouts = Shouts("question -> answer")

    def forward(self, question: str) -> Any:
        """Both."""
        return dspy.Prediction(a=self.calls(question).answer, b=self.shouts(question=question).answer)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of the program, which adds to a question."""

    @functools.wraps(function)
    def wrapper(module: Any, question: str) -> Any:
        return function(module, f"{question}!")

    return wrapper


class Decorated(Asks):
    """Has a decorated `forward`."""

    @logged
    def forward(self, question: str) -> Any:
        """The call."""
        return self.ask(question=question)


class Cached(Asks):
    """Has a `forward` that is no Python function itself."""

    @functools.lru_cache  # noqa: B019
    def forward(self, question: str) -> Any:
        """The call."""
        return self.ask(question=question)


class Partly(Asks):
    """Has a `forward` that is no function."""

    forward = functools.partial(politely, None)


class InContext(Asks):
    """Asks with settings of its own."""

    def forward(self, question: str) -> Any:
        """The call."""
        with dspy.context(lm=dspy.LM("openai/small", temperature=0.2, max_tokens=9), adapter=dspy.JSONAdapter()):
            return self.ask(question=question)


def is_adult(age: int) -> int:
    """A check."""
    assert age >= 18
    return age


class Guest(BaseModel):
    """Somebody with checks of all kinds."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    name: str
    age: Annotated[int, AfterValidator(is_adult)]

    @field_validator("name")
    @classmethod
    def has_two_names(cls, name: str) -> str:
        """A check."""
        assert " " in name
        return name


def decides(kind: Any) -> Any:
    """A predictor of a decision."""
    return dspy.Predict(dspy.Signature("question -> answer").append("blocked", dspy.OutputField(), kind))
