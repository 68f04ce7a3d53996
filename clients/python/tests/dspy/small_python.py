"""Small Python between predictors: programs of one function, whose values a graph computes as Python does."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, Optional

import dspy
from pydantic import BaseModel

Steps = Callable[[Any, Any], Any]


class Mood(Enum):
    """How somebody feels."""

    CALM = "calm"
    ANGRY = "angry"


class Level(IntEnum):
    """How much of it."""

    LOW = 1
    HIGH = 2


class Person(BaseModel):
    """A traveller."""

    name: str


class Facts(dspy.Signature):
    """Write down the facts."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    words: list[str] = dspy.OutputField()
    nothing: list[str] = dspy.OutputField()
    prices: dict[str, float] = dspy.OutputField()
    about: str = dspy.OutputField()
    number: str = dspy.OutputField()
    decimal: float = dspy.OutputField()
    tiny: float = dspy.OutputField()
    maybe: Optional[int] = dspy.OutputField()
    note: Optional[str] = dspy.OutputField()
    sure: bool = dspy.OutputField()
    mood: Mood = dspy.OutputField()
    person: Optional[Person] = dspy.OutputField()


class Small(dspy.Module):
    """A program whose `forward` is one function of the program and a question."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self.steps = steps
        self.ask = dspy.Predict(Facts)
        self.again = dspy.Predict("question -> answer")
        self.log: list[Any] = []
        self.count = 0

    def forward(self, question: str) -> Any:
        """The steps, as one answer."""
        return dspy.Prediction(made=self.steps(self, question))
