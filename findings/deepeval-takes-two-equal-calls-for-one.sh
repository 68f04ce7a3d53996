#!/usr/bin/env bash
# The tool correctness of DeepEval gives 0.5 to an agent that makes exactly the two equal calls that are expected, and 1 to one that
# refunds twice instead of once, or 5000 instead of 50.
#
# Seen with deepeval 4.3.1 against agentevals 0.0.9. Guess: the calls of an agent are correct if they are the expected ones, with
# their arguments; an agent that does what is expected has 1 in each mode. Behaviour: calls that were matched are remembered by
# their value, so that of equal expected calls only the first finds a partner: 1/2 of two, 1/3 of three, unless the order is to be
# considered. Calls beyond the expected ones do not count, however many. `ToolCorrectnessMetric()` compares names of tools only;
# arguments need `evaluation_params`. agentevals agrees with the guess in each case. An agent that rolls two dice or polls a job
# fails its test, and one that pays twice, or the wrong amount, passes. Use `should_exact_match=True` with `evaluation_params`,
# or agentevals.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet deepeval==4.3.1 agentevals==0.0.9

cat >agents.py <<'PY'
import json
import os

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", OPENAI_API_KEY="unused")

from agentevals.trajectory.match import create_trajectory_match_evaluator
from deepeval.metrics import ToolCorrectnessMetric
from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

WITH = {"evaluation_params": [ToolCallParams.INPUT_PARAMETERS]}
MODES = {"default": {}, "arguments": WITH, "arguments, order": WITH | {"should_consider_ordering": True},
         "arguments, exact": WITH | {"should_exact_match": True}}


def call(name, **arguments):
    return ToolCall(name=name, input_parameters=arguments)


def by_deepeval(made, expected, mode):
    metric = ToolCorrectnessMetric(include_reason=False, async_mode=False, **mode)
    case = LLMTestCase(input="Do it.", actual_output="Done.", tools_called=made, expected_tools=expected)
    return round(metric.measure(case, _show_indicator=False), 2)


def messages(calls):
    made = [{"id": str(number), "type": "function", "function": {"name": one.name, "arguments": json.dumps(one.input_parameters)}}
            for number, one in enumerate(calls)]
    return [{"role": "user", "content": "Do it."}, {"role": "assistant", "content": "", "tool_calls": made}]


def by_agentevals(made, expected):
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode="unordered")
    return evaluate(outputs=messages(made), reference_outputs=messages(expected))["score"]


CASES = {
    "5000 instead of 50": ([call("refund", amount=5000)], [call("refund", amount=50)]),
    "refunded twice": ([call("refund", amount=50), call("refund", amount=50)], [call("refund", amount=50)]),
    "nine calls more": ([call("refund", amount=50)] + [call("delete", id=number) for number in range(9)], [call("refund", amount=50)]),
    "two dice, as expected": ([call("roll"), call("roll")], [call("roll"), call("roll")]),
    "three polls, as expected": ([call("poll", id=1)] * 3, [call("poll", id=1)] * 3),
}
for name, (made, expected) in CASES.items():
    scores = "; ".join(f"{mode} {by_deepeval(made, expected, options)}" for mode, options in MODES.items())
    print(f"{name}: {scores}; agentevals {by_agentevals(made, expected)}")
PY
packages/bin/python agents.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
5000 instead of 50: default 1.0; arguments 0.0; arguments, order 0.0; arguments, exact 0.0; agentevals False
refunded twice: default 1.0; arguments 1.0; arguments, order 1.0; arguments, exact 0.0; agentevals False
nine calls more: default 1.0; arguments 1.0; arguments, order 1.0; arguments, exact 0.0; agentevals False
two dice, as expected: default 0.5; arguments 0.5; arguments, order 1.0; arguments, exact 1.0; agentevals True
three polls, as expected: default 0.33; arguments 0.33; arguments, order 1.0; arguments, exact 1.0; agentevals True
END
