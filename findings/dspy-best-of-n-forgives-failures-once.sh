#!/usr/bin/env bash
# `dspy.BestOfN` and `dspy.Refine` with three attempts survive four failed attempts in the life of the object. From then on the
# first failure of a call is raised, though attempts are left.
#
# Seen with dspy 3.4.1. Guess: `fail_count`, by default `N`, bounds the failed attempts of one call, so that each call of three
# attempts with one failure gives a result, and three failures give none. Behaviour: each failure lowers the count of the object,
# and no call restores it. The count is also compared with the index of the attempt, so that the third failure of the very first
# call raises, with a limit of three. A program that a server hosts answers all questions on the first day; after a minute in
# which its model failed, every failed first attempt is a failed answer until the server is started again, and no log says that
# a limit was reached. A test makes a new object. `fail_count=1_000_000` is the way out.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1

cat >calls.py <<'PY'
import logging

import dspy
from dspy.utils import DummyLM

logging.disable(logging.CRITICAL)
dspy.configure(lm=DummyLM([{"answer": "yes"}] * 1000))


class Program(dspy.Module):
    """Its first attempt at each question fails, all others are right."""

    asked = None

    def __init__(self):
        super().__init__()
        self.predict = dspy.Predict("question -> answer")

    def forward(self, question):
        first, Program.asked = question != Program.asked, question
        if first:
            raise ConnectionError("the model did not answer")
        return self.predict(question=question)


class Broken(Program):
    def forward(self, question):
        raise ConnectionError("the model did not answer")


def reward(inputs, prediction):
    return 1.0


def call(module, question):
    try:
        return module(question=question).answer
    except ConnectionError:
        return "failed"


def calls(make, new):
    module, answers = make(), []
    for number in range(8):
        module = make() if new else module
        answers.append(call(module, f"question {number}"))
    return " ".join(answers)


for kind in [dspy.BestOfN, dspy.Refine]:
    for limit in [None, 1_000_000]:
        def make():
            return kind(Program(), N=3, reward_fn=reward, threshold=1.0, fail_count=limit)
        name = f"{kind.__name__}, fail_count {limit}"
        print(f"SEEN {name}: a new object for each call: {calls(make, new=True)}")
        print(f"SEEN {name}: one object: {calls(make, new=False)}")

single = dspy.BestOfN(Broken(), N=3, reward_fn=reward, threshold=1.0)
print(f"SEEN the model is away, the limit of failures is {single.fail_count} in the first call: {call(single, 'question')}")
PY
packages/bin/python calls.py 2>log >all || { tail -5 log >&2; exit 1; }
sed -n 's/^SEEN //p' all >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
BestOfN, fail_count None: a new object for each call: yes yes yes yes yes yes yes yes
BestOfN, fail_count None: one object: yes yes yes yes failed failed failed failed
BestOfN, fail_count 1000000: a new object for each call: yes yes yes yes yes yes yes yes
BestOfN, fail_count 1000000: one object: yes yes yes yes yes yes yes yes
Refine, fail_count None: a new object for each call: yes yes yes yes yes yes yes yes
Refine, fail_count None: one object: yes yes yes yes failed failed failed failed
Refine, fail_count 1000000: a new object for each call: yes yes yes yes yes yes yes yes
Refine, fail_count 1000000: one object: yes yes yes yes yes yes yes yes
the model is away, the limit of failures is 3 in the first call: failed
END
