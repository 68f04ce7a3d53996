"""Loops over lists of the run: independent rounds are a `map`, rounds that need the one before are a `loop`."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"
# ruff: noqa: B905

from __future__ import annotations

from typing import Any

import dspy
import pytest
from alike import assert_alike
from pydantic import BaseModel

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


class Entity(BaseModel):
    """A thing in a text."""

    name: str
    kind: str


class Facts(dspy.Signature):
    """Write down the facts."""

    question: str = dspy.InputField()
    words: list[str] = dspy.OutputField()
    titles: list[str] = dspy.OutputField()
    nothing: list[str] = dspy.OutputField()
    prices: dict[str, float] = dspy.OutputField()
    entities: list[Entity] = dspy.OutputField()
    sure: bool = dspy.OutputField()
    answer: str = dspy.OutputField()


class Each(dspy.Module):
    """A program of one function of the program, the facts and the question."""

    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps
        self.ask = dspy.Predict(Facts)
        self.again = dspy.ChainOfThought("question, context -> answer")
        self.judge = dspy.Predict("answer -> sure: bool, score: float")
        self.summarize = dspy.Predict("earlier, text -> summary")
        self.log: list[Any] = []

    def forward(self, question: str) -> Any:
        """The steps, as one answer."""
        return dspy.Prediction(made=self.steps(self, self.ask(question=question), question))


def two_predictors(p: Any, f: Any, q: Any) -> Any:
    answers = []
    scores = []
    for word in f.words:
        answer = p.again(question=word, context=q).answer
        answers.append(f"{word}: {answer}")
        scores.append(p.judge(answer=answer).score)
    return {"answers": answers, "best": max(scores)}


def numbers_of_predictions(p: Any, f: Any, q: Any) -> Any:
    return sum([float(p.judge(answer=word).sure) for word in f.words])


def only_some(p: Any, f: Any, q: Any) -> Any:
    chosen = ["always"]
    for word in f.words:
        if word.startswith("it"):
            continue
        made = p.judge(answer=word)
        if made.sure:
            chosen.append(word)
            chosen.append("!")
    return chosen


def numbered(p: Any, f: Any, q: Any) -> Any:
    lines = []
    for number, word in enumerate(f.words, 1):
        lines.append(f"{number}. {word}")
    return "\n".join(lines)


def side_by_side(p: Any, f: Any, q: Any) -> Any:
    pairs = []
    for word, title in zip(f.words, f.titles):
        pairs.append(p.again(question=word, context=title).answer + title)
    return pairs


def of_a_dict(p: Any, f: Any, q: Any) -> Any:
    lines = []
    for name, price in f.prices.items():
        lines.append(f"{name} costs {price:.2f}")
    return lines


def of_classes(p: Any, f: Any, q: Any) -> Any:
    names = []
    for entity in f.entities:
        names.append({"name": entity.name.upper(), "kind": entity.kind})
    return names


def carries_a_summary(p: Any, f: Any, q: Any) -> Any:
    summary = ""
    for title in f.titles:
        summary = p.summarize(earlier=summary, text=title).summary
    return summary


def counts(p: Any, f: Any, q: Any) -> Any:
    total, best = 0, None
    for word in f.words:
        score = p.judge(answer=word).score
        total += score
        if best is None or score > 0.5:
            best = word
    return {"total": total, "best": best}


def remembers(p: Any, f: Any, q: Any) -> Any:
    history: list[str] = []
    for word in f.words:
        answer = p.again(question=word, context=", ".join(history)).answer
        history.append(f"{word}={answer}")
    return history


def writes_lines(p: Any, f: Any, q: Any) -> Any:
    text = f"# {q}\n"
    for word in f.words:
        text += f"- {word}\n"
    return text


def ends_early(p: Any, f: Any, q: Any) -> Any:
    answer, tried = "none", []
    for word in f.words:
        tried.append(word)
        made = p.judge(answer=word)
        if made.sure:
            answer = word
            break
    return {"answer": answer, "tried": tried}


def no_rounds(p: Any, f: Any, q: Any) -> Any:
    text, lines = "start", []
    for word in f.nothing:
        text += word
        lines.append(word)
    return [text, *lines] if False else {"text": text, "lines": lines}


def within_each_other(p: Any, f: Any, q: Any) -> Any:
    made = []
    for word in f.words:
        for title in f.titles:
            made.append(p.again(question=word, context=title).answer)
    return made


def lists_of_lists(p: Any, f: Any, q: Any) -> Any:
    rows = []
    for word in f.words:
        row = []
        for title in f.titles:
            row.append(f"{word}/{title}")
        rows.append(row)
    return rows


def one_after_another(p: Any, f: Any, q: Any) -> Any:
    answers = []
    for word in f.words:
        answers.append(p.again(question=word, context="").answer)
    summary = "none"
    for answer in answers:
        summary = p.summarize(earlier=summary, text=answer).summary
    return {"summary": summary, "count": len(answers), "some": "yes" if answers else "no"}


def with_a_helper(p: Any, f: Any, q: Any) -> Any:
    found: list[str] = []
    for word in f.words:
        add(p, word, found)
    return found


def add(p: Any, word: str, found: list[str]) -> None:
    """Appends to a list of its caller."""
    found.append(p.again(question=word, context="").answer)


def decided_outside(p: Any, f: Any, q: Any) -> Any:
    made = []
    for word in f.words:
        made.append(p.again(question=word, context="sure" if f.sure else "unsure").answer)
    return made


ALIKE = [
    two_predictors, numbers_of_predictions, only_some, numbered, side_by_side, of_a_dict, of_classes,
    carries_a_summary, counts, remembers,
    writes_lines, ends_early, no_rounds, within_each_other, lists_of_lists, one_after_another, with_a_helper,
    decided_outside,
]  # fmt: skip


@pytest.mark.parametrize("steps", ALIKE, ids=lambda steps: steps.__name__)
def test_a_loop_does_in_a_graph_what_it_does_in_python(steps: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = Each(steps)
    assert_alike(client, program, push(program, name, client=client), {"question": "Where?"})


COMPREHENSIONS: dict[str, Any] = {
    "a condition": lambda p, f, q: [word for word in f.words if word.startswith("L")],
    "a condition and a predictor": lambda p, f, q: [
        p.again(question=word, context=q).answer for word in f.words if "i" in word
    ],
    "a predictor as a condition": lambda p, f, q: [word for word in f.words if p.judge(answer=word).sure],
    "two predictors": lambda p, f, q: [
        p.judge(answer=p.again(question=word, context="").answer).score for word in f.words
    ],
    "no predictor": lambda p, f, q: [word.upper() + "!" for word in f.words],
    "pairs": lambda p, f, q: [f"{number} {word}" for number, word in enumerate(f.words)],
    "a generator": lambda p, f, q: ", ".join(word.lower() for word in f.words if word),
    "any of them": lambda p, f, q: "yes" if any(word == "Lima" for word in f.words) else "no",
    "all of them": lambda p, f, q: "yes" if all(len(word) > 4 for word in f.words) else "no",
    "a sum": lambda p, f, q: sum(len(word) for word in f.words),
    "a nested one": lambda p, f, q: [[f"{word}{title}" for title in f.titles] for word in f.words],
    "members of classes": lambda p, f, q: [entity.name for entity in f.entities],
    "the reverse": lambda p, f, q: [word for word in reversed(f.words)],
    "dicts": lambda p, f, q: [{"word": word, "length": len(word)} for word in f.words],
}


@pytest.mark.parametrize("steps", COMPREHENSIONS.values(), ids=COMPREHENSIONS.keys())
def test_a_comprehension_makes_in_a_graph_what_it_makes_in_python(
    steps: Any, client: Client, name: str, lm: dspy.LM
) -> None:
    program = Each(steps)
    assert_alike(client, program, push(program, name, client=client), {"question": "Where?"})


STRATEGIES = {two_predictors: "map", only_some: "map", carries_a_summary: "branch", remembers: "branch"}


@pytest.mark.parametrize("steps", STRATEGIES, ids=lambda steps: steps.__name__)
def test_rounds_are_independent_unless_one_needs_the_one_before(steps: Any) -> None:
    nodes = graph_of(Each(steps), "loops")["nodes"]
    [node] = [body for name, body in nodes.items() if name in ("map", "loop")]
    assert node["strategy"] == STRATEGIES[steps]
    assert STRATEGIES[steps] == "map" or node["config"]["then"]["strategy"] == "loop"


def test_predictors_in_a_loop_have_paths_and_the_bound_is_noted(client: Client, name: str) -> None:
    pushed = push(Each(carries_a_summary), name, client=client)
    assert pushed.paths["summarize"] == ["loop.then.module.summarize"]
    assert pushed.notes == ["the loop over `ask.titles` makes at most 100 rounds: a longer list fails the run"]


def uses_the_last(p: Any, f: Any, q: Any) -> Any:
    for word in f.words:
        answer = p.again(question=word, context="").answer
    return f"{answer}"  # here


def changes_a_dict(p: Any, f: Any, q: Any) -> Any:
    found = {}
    for word in f.words:
        found["last"] = word
    return found


def returns_early(p: Any, f: Any, q: Any) -> Any:
    for word in f.words:
        if word == "Lima":
            return word  # here
    return "none"


REFUSED = {
    uses_the_last: "uses `answer` of the last round of a loop. Append it to a list, or assign it before the loop.",
    changes_a_dict: (
        "changes a `dict` in a loop over `ask.words` in another way than by `.append`. "
        "Append to a list, or assign a variable."
    ),
    returns_early: (
        "returns within a loop over a list of the run. Assign a variable and `break`. "
        "Nearest: `loop` (docs/strategies.md#loop)."
    ),
}


@pytest.mark.parametrize("steps", REFUSED, ids=lambda steps: steps.__name__)
def test_what_a_loop_of_a_graph_cannot_do_is_refused(steps: Any) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Each(steps), "refused")
    assert str(refusal.value).startswith(f"{__file__}:") and str(refusal.value).endswith(f": {REFUSED[steps]}")
