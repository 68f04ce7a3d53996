"""Programs of each kind of module that a graph has a strategy for."""
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from __future__ import annotations

from enum import Enum
from typing import Any

import dspy
from pydantic import BaseModel, Field


class Mood(Enum):
    """How somebody feels."""

    CALM = "calm"
    ANGRY = "angry"


class Person(BaseModel):
    """A traveller."""

    name: str = Field(description="full name")
    age: int | None = None


class Booking(BaseModel):
    """What was booked."""

    traveller: Person
    cities: list[str]
    mood: Mood


class ReadLetter(dspy.Signature):
    """Read the letter."""

    letter: str = dspy.InputField()
    booking: Booking = dspy.OutputField(desc="all that was booked")


class Desk(dspy.Module):
    """Reads a letter into a class, and uses its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.Predict(ReadLetter)
        self.summarize = dspy.ChainOfThought("text: str, mood: Mood, places: list[str], first: str -> summary")

    def forward(self, letter: str) -> Any:
        """The steps."""
        booking = self.read(letter=letter).booking
        text = f"{booking.traveller.name.upper()} travels to {booking.cities[0]} and {booking.cities[-1]}."
        places = booking.cities[:1]
        summary = self.summarize(text=text, mood=booking.mood, places=places, first=booking.cities[0])
        return dspy.Prediction(summary=summary.summary, text=text, places=places, count=len(booking.cities))


class Tickets(dspy.Module):
    """Answers each ticket, and writes a title for each word list."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = dspy.ChainOfThought("ticket, style -> answer")
        self.title = dspy.Predict("answer -> title")

    def forward(self, tickets: list[str], style: str) -> Any:
        """Over each ticket, then over each answer at once."""
        answers = [self.reply(ticket=ticket, style=style).answer for ticket in tickets]
        titled = dspy.Parallel(disable_progress_bar=True)([(self.title, {"answer": answer}) for answer in answers])
        return dspy.Prediction(answers=answers, titles=[prediction.title for prediction in titled])


def one_word(args: dict[str, Any], prediction: Any) -> float:
    """1 for one word."""
    return 1.0 if len(prediction.answer.split()) == 1 else 0.0


def graded(args: dict[str, Any], prediction: Any) -> float:
    """Longer answers are worse, and wrong ones worthless."""
    words = len(prediction.answer.split(" "))
    if not prediction.answer or args["question"] in prediction.answer:
        return 0.0
    return 1.0 / words if words > 1 else 1.0


class Two(dspy.Module):
    """Two minds and a comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.careful = dspy.ChainOfThought("question -> answer")
        self.quick = dspy.ChainOfThought("question -> answer")
        self.settle = dspy.MultiChainComparison("question -> answer", M=2)

    def forward(self, question: str) -> Any:
        """Both answer, then one is chosen."""
        return self.settle([self.careful(question=question), self.quick(question=question)], question=question)


class Inner(dspy.Module):
    """A module in a module, with a list of predictors."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = [dspy.Predict("country -> city"), dspy.Predict("city -> sentence")]

    def forward(self, country: str) -> Any:
        """The steps."""
        return self.steps[1](city=self.steps[0](country=country).city)


class Outer(dspy.Module):
    """Runs a module and a predictor at once."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.ask = dspy.Predict("question -> answer")

    def forward(self, country: str) -> Any:
        """Both at once."""
        parallel = dspy.Parallel(num_threads=2, disable_progress_bar=True)
        tour, answered = parallel(
            [
                (self.inner, {"country": country}),
                (self.ask, dspy.Example(question=f"Where is {country}?").with_inputs("question")),
            ]
        )
        return dspy.Prediction(sentence=tour.sentence, both=[tour.sentence, answered.answer])
