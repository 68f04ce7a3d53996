#!/usr/bin/env bash
# A metric that returns `np.float32` or `np.bool_` is worth 0 for every example in DSPy's SIMBA, and right in its evaluations.
#
# Seen with dspy 3.4.1 (numpy 2.4.6). Guess: a score that `Evaluate` accepts is a score for the optimizers, or it is refused, as a
# prediction without `score` is. Behaviour: SIMBA takes the result for a score if it is an `int`, a `float` or a `Prediction`,
# and leaves 0 otherwise. `np.float64` is a `float` and `np.float32` is none, so a similarity of embeddings, which are float32,
# or a comparison of arrays is 0. The search makes all its calls, finds no difference between its candidates and learns nothing.
# A metric that ends with `float(…)` works.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1 numpy==2.4.6

cat >search.py <<'PY'
import logging

import dspy
import numpy as np
from dspy.utils import DummyLM

logging.disable(logging.CRITICAL)
VECTORS = {"warm": np.array([0.8, 0.6], dtype=np.float32), "hot": np.array([0.6, 0.8], dtype=np.float32)}
examples = [dspy.Example(text=f"text {n}", mood="warm").with_inputs("text") for n in range(8)]


class Mood(dspy.Module):
    def __init__(self):
        super().__init__()
        self.mood = dspy.Predict("text -> mood")

    def forward(self, text):
        return self.mood(text=text)


def similar(example, found, trace=None):
    return VECTORS[example.mood] @ VECTORS[found.mood]


def similar_as_float(example, found, trace=None):
    return float(similar(example, found))


def equal(example, found, trace=None):
    return (VECTORS[example.mood] == VECTORS["warm"]).all()


for metric in [similar, similar_as_float, equal]:
    dspy.configure(lm=DummyLM([{"mood": "hot"}] * 500))
    kind = type(metric(examples[0], examples[0])).__name__
    evaluated = dspy.Evaluate(devset=examples, metric=metric, num_threads=1)(Mood()).score
    search = dspy.SIMBA(metric=metric, bsize=4, num_candidates=2, max_steps=1, num_threads=1)
    found = search.compile(Mood(), trainset=examples)
    scores = [round(100 * float(candidate["score"])) for candidate in found.candidate_programs]
    print(f"metric {metric.__name__} ({kind}): evaluation {evaluated:.0f}, SIMBA {scores}")
PY
packages/bin/python search.py 2>log | grep -a '^metric' >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
metric similar (float32): evaluation 96, SIMBA [0, 0]
metric similar_as_float (float): evaluation 96, SIMBA [96, 96]
metric equal (bool): evaluation 100, SIMBA [0, 0]
END
