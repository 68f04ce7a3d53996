#!/usr/bin/env bash
# A DBOS workflow that falls back to another model after an error of `openai` succeeds if nothing interrupts it, and fails for
# good with a `TypeError` if it is recovered, although all its answers are stored.
#
# Seen with dbos 3.4.0 on SQLite, openai 3.57.0, anthropic 2.14.0 and httpx 0.28.1. Guess: an error of a step is recorded
# like a result, and a recovery raises the same error, so that the same `except` catches it. Behaviour: errors are pickled, which
# succeeds, and so the workflow goes on. Python makes an unpickled error from its `args`, but the errors of openai with a status, or
# without a connection, and `HTTPStatusError` of httpx need other arguments: reading them raises a `TypeError`, which no `except`
# for the error catches. Nothing fails, and nothing is logged, when the error is written. Those of anthropic can be read. A step
# that catches the error itself, and returns a value, is safe.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dbos==3.4.0 openai==3.57.0 anthropic==2.14.0 httpx==0.28.1

cat >errors.py <<'PY'
import pickle

import anthropic
import httpx
import openai

request = httpx.Request("POST", "http://127.0.0.1/v1")
response = httpx.Response(429, request=request)
for error in [
    openai.RateLimitError("the quota is spent", response=response, body=None),
    openai.APIConnectionError(request=request),
    anthropic.RateLimitError("the quota is spent", response=response, body=None),
    httpx.HTTPStatusError("the quota is spent", request=request, response=response),
]:
    written = pickle.dumps(error)
    try:
        pickle.loads(written)
        found = "is read"
    except TypeError:
        found = "is written, cannot be read"
    print(f"  {type(error).__module__}.{type(error).__name__}: {found}")
PY
cat >fallback.py <<'PY'
import os

import httpx
import openai
from dbos import DBOS, SetWorkflowID

DBOS(
    config={
        "name": "fallback",
        "system_database_url": "sqlite:///fallback.sqlite",
        "run_admin_server": False,
        "log_level": "CRITICAL",
    }
)


@DBOS.step()
def ask(model):
    print("  asked:", model, flush=True)
    if model == "large":
        response = httpx.Response(429, request=httpx.Request("POST", "http://127.0.0.1/v1"))
        raise openai.RateLimitError("the quota is spent", response=response, body=None)
    return f"answer of {model}"


@DBOS.step()
def store():
    if os.environ.get("CRASH"):
        os._exit(9)


@DBOS.workflow()
def answer():
    try:
        text = ask("large")
    except openai.RateLimitError:
        text = ask("small")
    store()
    return text


DBOS.launch()
with SetWorkflowID(os.environ["ID"]):
    handle = DBOS.start_workflow(answer)
try:
    print("  result:", handle.get_result())
except Exception as error:
    print("  failed:", type(error).__name__)
DBOS.destroy()
PY
{
  echo "pickled"
  packages/bin/python errors.py
  echo "without an interruption"
  ID=1 packages/bin/python fallback.py
  echo "the process ends after all answers"
  CRASH=1 ID=2 packages/bin/python fallback.py || [ $? -eq 9 ]
  echo "it starts again"
  ID=2 packages/bin/python fallback.py
} >seen 2>log || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { tail -5 log >&2; echo "the behaviour has changed" >&2; exit 1; }
pickled
  openai.RateLimitError: is written, cannot be read
  openai.APIConnectionError: is written, cannot be read
  anthropic.RateLimitError: is read
  httpx.HTTPStatusError: is written, cannot be read
without an interruption
  asked: large
  asked: small
  result: answer of small
the process ends after all answers
  asked: large
  asked: small
it starts again
  failed: TypeError
END
