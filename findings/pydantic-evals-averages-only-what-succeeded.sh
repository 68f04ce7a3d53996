#!/usr/bin/env bash
# A program that fails for nine of ten examples has an average of 1.0 in Pydantic Evals, and DSPy gives the same program 10 of
# 100.
#
# Seen with pydantic-evals 2.62.0 and dspy 3.4.1. Guess: the average of a report is that over its dataset, so that a check in CI
# for at least 0.9 notices a program that broke. Behaviour: an example whose task raises is moved from `cases` to `failures`, and
# one whose evaluator raises keeps its place without a score; `averages()` divides by what is left, and says neither how many
# that were nor that others are missing. Worse programs win comparisons: one that raises where it would be wrong scores higher
# than one that answers. Compare `len(report.failures)` first, or catch the exception within the task.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pydantic-evals==2.62.0 dspy==3.4.1
export DSPY_CACHEDIR="$place/cache"

cat >measure.py <<'PY'
import logging
from dataclasses import dataclass

import dspy
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator

logging.disable()
QUESTIONS = {str(at): str(at * at) for at in range(10)}


def right_or_wrong(question):
    return QUESTIONS[question] if question == "3" else "unknown"


def right_or_raises(question):
    if question != "3":
        raise ConnectionError("no answer")
    return QUESTIONS[question]


@dataclass
class Exact(Evaluator):
    def evaluate(self, ctx):
        return {"exact": float(ctx.output == ctx.expected_output)}


@dataclass
class StrictJudge(Evaluator):
    """A judge that has no grade for what it cannot read."""

    def evaluate(self, ctx):
        if ctx.output == "unknown":
            raise ValueError("no grade")
        return {"exact": float(ctx.output == ctx.expected_output)}


def exact(example, prediction, trace=None):
    return float(prediction.answer == example.answer)


def strict_judge(example, prediction, trace=None):
    if prediction.answer == "unknown":
        raise ValueError("no grade")
    return exact(example, prediction)


class Program(dspy.Module):
    def __init__(self, task):
        super().__init__()
        self.task = task

    def forward(self, question):
        return dspy.Prediction(answer=self.task(question))


def show(name, task, evaluator, metric):
    cases = [Case(name=question, inputs=question, expected_output=answer) for question, answer in QUESTIONS.items()]
    report = Dataset(name="squares", cases=cases, evaluators=[evaluator]).evaluate_sync(task, progress=False)
    examples = [dspy.Example(question=q, answer=a).with_inputs("question") for q, a in QUESTIONS.items()]
    result = dspy.Evaluate(devset=examples, metric=metric, max_errors=100, num_threads=1, display_progress=False)(Program(task))
    print(f"{name}: pydantic-evals {report.averages().scores}, dspy {result.score} of 100")


show("one right, nine wrong", right_or_wrong, Exact(), exact)
show("one right, nine raise", right_or_raises, Exact(), exact)
show("one right, nine wrong, the judge raises for these", right_or_wrong, StrictJudge(), strict_judge)
PY
python/bin/python measure.py >seen 2>errors
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
one right, nine wrong: pydantic-evals {'exact': 0.1}, dspy 10.0 of 100
one right, nine raise: pydantic-evals {'exact': 1.0}, dspy 10.0 of 100
one right, nine wrong, the judge raises for these: pydantic-evals {'exact': 1.0}, dspy 10.0 of 100
END
