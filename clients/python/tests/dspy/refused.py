"""Programs that a graph cannot say, one for each refusal. A comment `# here` marks the line that the refusal names."""
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False, disable-error-code="no-any-return"

from __future__ import annotations

import json
import textwrap
from typing import Any

import dspy


class Ask(dspy.Module):
    """What the programs below have in common."""

    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict("question -> answer, sure: bool, score: float, words: list[str], note: Optional[str]")
        self.again = dspy.Predict("question -> answer")


class LoopsOverAList(Ask):
    def forward(self, question: str) -> Any:
        answers = {}
        for number, word in enumerate(self.ask(question=question).words):
            answers[number] = self.again(question=word).answer  # here
        return dspy.Prediction(answers=answers)


class LoopsUntilItIsSure(Ask):
    def forward(self, question: str) -> Any:
        first = self.ask(question=question)
        while not first.sure:  # here
            first = self.ask(question=question)
        return first


class WritesATitle(Ask):
    def forward(self, question: str) -> Any:
        first = self.ask(question=question).answer
        return self.again(question=first.title())  # here


class CallsALibrary(Ask):
    def forward(self, question: str) -> Any:
        return self.again(question=textwrap.fill(self.ask(question=question).answer))  # here


class CallsAFunctionOfItsOwn(Ask):
    def forward(self, question: str) -> Any:
        return self.again(question=lookup(question))


def lookup(question: str) -> str:
    """Reads a file."""
    with open(question) as file:  # here
        return file.read()


class ChecksAType(Ask):
    def forward(self, question: str) -> Any:
        note = self.ask(question=question).note
        return self.again(question=note if isinstance(note, str) else question)  # here


class WritesATupleIntoAText(Ask):
    def forward(self, question: str) -> Any:
        return self.again(question=f"Words: {(self.ask(question=question).answer, 1)}")  # here


class FormatsWithPercent(Ask):
    def forward(self, question: str) -> Any:
        return self.again(question="Answer: %a" % self.ask(question=question).answer)  # here  # noqa: UP031


class CatchesAFailure(Ask):
    def forward(self, question: str) -> Any:
        try:
            return self.ask(question=question)  # here
        except KeyError:
            return self.ask(question="a key is missing")
        except Exception:
            return self.again(question=question)


class ReturnsAText(Ask):
    def forward(self, question: str) -> Any:  # here
        return self.again(question=question).answer


class TakesAnything(Ask):
    def forward(self, **inputs: Any) -> Any:  # here
        return self.again(**inputs)


class MakesAPredictor(Ask):
    def forward(self, question: str) -> Any:
        return dspy.Predict("question -> answer")(question=question)  # here


class LeavesAnInputOut(Ask):
    def forward(self, question: str) -> Any:
        return self.again()  # here


class AsksForCompletions(Ask):
    def forward(self, question: str) -> Any:
        with dspy.context(lm=dspy.LM("openai/several", n=3)):
            return self.ask(question=question)  # here


class UsesAPart(Ask):
    def forward(self, question: str) -> Any:
        return self.again(question=self.ask(question=question).answer.headline)  # here


class UsesAnotherOutput(Ask):
    def forward(self, question: str) -> Any:
        return self.again(question=self.again(question=question).missing)  # here


class PassesAListToAText(Ask):
    def __init__(self) -> None:
        super().__init__()
        self.typed = dspy.Predict("question: str -> answer")

    def forward(self, question: str) -> Any:
        return self.typed(question=self.ask(question=question).words)  # here


class UsesAKey(Ask):
    def forward(self, question: str) -> Any:
        known = {"Lima": "Peru"}
        return dspy.Prediction(country=known[self.ask(question=question).answer])  # here


class UsesAnImage(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.see = dspy.Predict("image: dspy.Image -> answer")

    def forward(self, image: Any) -> Any:
        return self.see(image=image)  # here


class UsesTwoModels(Ask):
    def forward(self, question: str) -> Any:
        with dspy.context(lm=dspy.LM("openai/small")):
            first = self.ask(question=question)
        with dspy.context(lm=dspy.LM("openai/large")):
            return self.again(question=first.answer)  # here


class RewardsByALibrary(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.best = dspy.BestOfN(dspy.Predict("question -> answer"), N=2, reward_fn=parses, threshold=1.0)

    def forward(self, question: str) -> Any:
        return self.best(question=question)


def parses(args: dict[str, Any], prediction: Any) -> float:
    """Whether the answer is JSON."""
    return float(bool(json.loads(prediction.answer)))  # here


class AttemptsAProgram(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.best = dspy.BestOfN(ReturnsAText(), N=2, reward_fn=parses, threshold=1.0)

    def forward(self, question: str) -> Any:
        return self.best(question=question)  # here


class ActsWithAFunction(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.agent = dspy.ReAct("question -> answer", tools=[lookup])

    def forward(self, question: str) -> Any:
        return self.agent(question=question)  # here


class ActsInTurnsWithAFunction(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.agent = dspy.ReActV2("question -> answer", tools=[lookup])

    def forward(self, question: str) -> Any:
        return self.agent(question=question)  # here
