#!/usr/bin/env bash
# The `timeout` of dspy.Parallel ends no call: it starts the slow call again, and again after each further timeout.
#
# Seen with dspy 3.4.1; `Evaluate` and the optimizers use the same executor with 120 s. Guess: `timeout` bounds how long an
# item may take, or at most repeats it once. Behaviour: once no more than `straggler_limit` items are left, an item that runs
# for longer is started beside itself; the copy is a straggler after the same time, too, and is copied. All copies run to their
# ends and are paid. An agent that needs ten minutes at the end of an evaluation is bought five times.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1

cat >slow.py <<'PY'
import logging
import time

import dspy

logging.disable(logging.CRITICAL)
calls = []


class Agent(dspy.Module):
    def forward(self, number):
        calls.append(number)
        time.sleep(8 if number == 3 else 0)
        return number


batch = dspy.Parallel(num_threads=8, timeout=1, straggler_limit=3, disable_progress_bar=True)
found = batch([(Agent(), {"number": number}) for number in range(4)])
print("results:", found)
print("the fast ones were called once:", [calls.count(number) for number in range(3)] == [1, 1, 1])
print("the slow one was called more than twice:", calls.count(3) > 2)
PY
packages/bin/python slow.py 2>/dev/null >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
results: [0, 1, 2, 3]
the fast ones were called once: True
the slow one was called more than twice: True
END
