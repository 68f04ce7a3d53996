#!/usr/bin/env bash
# In DSPy's MIPROv2, one failed request with `max_errors=1` ends no search: the candidate that met it scores 0.
#
# Seen with dspy 3.4.1 (optuna 5.0.0). Guess: `max_errors` bounds how many examples may fail before the search ends with
# the failure, as it does for `Evaluate` alone. Behaviour: the exception by which an evaluation gives up is caught around each
# candidate, logged, and becomes a score of 0. A strict limit makes it worse: the baseline, which is right on all other
# examples, scores 0 for one refused connection, every later candidate seems to gain 100, and `compile` returns one.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1 optuna==5.0.0

cat >search.py <<'PY'
import logging

import dspy
from dspy.utils import DummyLM

logging.disable(logging.CRITICAL)
said = {"answer": "4", "proposed_instruction": "Answer with a number."}
dspy.configure(lm=DummyLM([said] * 2000))
examples = [dspy.Example(question=f"{n} - {n - 4}?", answer="4").with_inputs("question") for n in range(12)]
refused_once = {examples[6].question}


class Difference(dspy.Module):
    def __init__(self):
        super().__init__()
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question):
        if question in refused_once:
            refused_once.discard(question)
            raise ConnectionError("the provider is down")
        return self.answer(question=question)


def exact(example, found, trace=None):
    return found.answer == example.answer


search = dspy.MIPROv2(metric=exact, auto=None, num_candidates=2, max_errors=1, num_threads=1, seed=1,
                      max_bootstrapped_demos=0, max_labeled_demos=0)
best = search.compile(Difference(), trainset=examples[:6], valset=examples[6:], num_trials=2, minibatch=False,
                      program_aware_proposer=False, data_aware_proposer=False, tip_aware_proposer=False,
                      fewshot_aware_proposer=False)
print("scores of the search:", sorted(found["score"] for found in best.candidate_programs))

refused_once.add(examples[6].question)
try:
    dspy.Evaluate(devset=examples[6:], metric=exact, num_threads=1, max_errors=1)(Difference())
except Exception as ended:
    print("an evaluation alone:", ended)
PY
packages/bin/python search.py 2>log | grep -aE '^(scores|an evaluation)' >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
scores of the search: [0.0, 100.0, 100.0]
an evaluation alone: Execution cancelled due to errors or interruption.
END
