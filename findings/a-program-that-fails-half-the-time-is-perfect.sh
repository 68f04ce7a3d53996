#!/usr/bin/env bash
# A program that answers half of the examples and fails with the others scores 1.0 in Pydantic Evals, Braintrust and Inspect, and
# 0.5 in DSPy.
#
# Seen with pydantic-evals 2.62.0, braintrust 0.48.1 (without sending logs), inspect-ai 0.3.285 and dspy 3.4.1. Guess: the score of
# an evaluation is over its examples; one that failed is worth 0, or the evaluation fails. Behaviour: the first three leave
# failed examples out of the mean, Inspect once `fail_on_error` is false or a share (by default, it stops at the first).
# The failures are in the report, in other places than the score. Examples do not fail by chance: those that are long exceed the
# context, those that are hard exceed the time. So a change that makes hard examples fail raises the score, and two models
# are compared on different examples. Compare the number of scored examples with that of all, and divide by the latter.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet pydantic-evals==2.62.0 braintrust==0.48.1 inspect-ai==0.3.285 dspy==3.4.1

cat >evaluate.py <<'PY'
import asyncio
import logging

import braintrust
import dspy
from inspect_ai import Task, eval as evaluate_task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match
from inspect_ai.solver import solver
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

QUESTIONS = ["1", "2", "3", "4"]
logging.disable(logging.CRITICAL)


def program(question):
    if int(question) > 2:
        raise ConnectionError("the server closed the connection")
    return "right"


def by_dspy():
    class Program(dspy.Module):
        def forward(self, question):
            return dspy.Prediction(answer=program(question))

    examples = [dspy.Example(question=question, answer="right").with_inputs("question") for question in QUESTIONS]
    evaluate = dspy.Evaluate(devset=examples, metric=lambda example, prediction, trace=None: example.answer == prediction.answer,
                             num_threads=1, max_errors=10, display_progress=False)
    return evaluate(Program()).score / 100


def by_pydantic_evals():
    async def answer(question: str) -> str:
        return program(question)

    cases = [Case(name=question, inputs=question, expected_output="right") for question in QUESTIONS]
    dataset = Dataset(name="questions", cases=cases, evaluators=[EqualsExpected()])
    return dataset.evaluate_sync(answer, progress=False).averages().assertions


def by_braintrust():
    def exact(input, output, expected):
        return {"name": "exact", "score": float(output == expected)}

    data = [{"input": question, "expected": "right"} for question in QUESTIONS]
    result = asyncio.run(braintrust.EvalAsync("questions", data=data, task=program, scores=[exact], no_send_logs=True))
    return result.summary.scores["exact"].score


def by_inspect(fail_on_error):
    @solver
    def answer():
        async def solve(state, generate):
            state.output.completion = program(state.input_text)
            return state

        return solve

    task = Task(dataset=[Sample(input=question, target="right") for question in QUESTIONS], solver=answer(), scorer=match())
    log = evaluate_task(task, model="mockllm/model", fail_on_error=fail_on_error, display="none", log_dir="logs")[0]
    return log.results.scores[0].metrics["accuracy"].value if log.status == "success" else log.status


scores = {"dspy": by_dspy(), "pydantic-evals": by_pydantic_evals(), "braintrust": by_braintrust(), "inspect": by_inspect(True),
          "inspect, fail_on_error=False": by_inspect(False), "inspect, fail_on_error=0.9": by_inspect(0.9)}
for name, score in scores.items():
    print(f"score in {name}: {score}")
PY
packages/bin/python evaluate.py 2>log | grep '^score in' >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
score in dspy: 0.5
score in pydantic-evals: 1.0
score in braintrust: 1.0
score in inspect: error
score in inspect, fail_on_error=False: 1.0
score in inspect, fail_on_error=0.9: 1.0
END
