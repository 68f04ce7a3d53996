#!/usr/bin/env bash
# `with_retry` of LangChain retries `invoke` and `batch`, and neither `stream`, `astream_events` nor `batch_as_completed`, while
# `with_fallbacks` covers a stream.
#
# Seen with langchain-core 1.8.3. Guess: a runnable with retries retries, however it is called, at least while nothing has been
# sent: `with_fallbacks` takes the next model if a stream fails before its first chunk. Behaviour: streams and
# `batch_as_completed` make one attempt, and in a chain that is streamed, no step is retried. A service whose tests call `invoke`
# loses its retries when its page begins to stream, and a connection that is refused ends the answer. `max_retries` of the
# model, or a retry around the whole stream before the first chunk, is the way out.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langchain-core==1.8.3

cat >calls.py <<'PY'
import asyncio

from langchain_core.runnables import RunnableLambda

attempts = []


def model(question):
    attempts.append(question)
    if len(attempts) < 3:
        raise ConnectionError("refused")
    return "an answer"


def retried():
    return RunnableLambda(model).with_retry(stop_after_attempt=3, wait_exponential_jitter=False)


def with_fallback():
    return RunnableLambda(model).with_fallbacks([RunnableLambda(model), RunnableLambda(model)])


async def events(runnable):
    async for _ in runnable.astream_events("Why?"):
        pass


calls = {
    "invoke": lambda runnable: runnable.invoke("Why?"),
    "batch": lambda runnable: runnable.batch(["Why?"]),
    "batch_as_completed": lambda runnable: list(runnable.batch_as_completed(["Why?"])),
    "stream": lambda runnable: list(runnable.stream("Why?")),
    "astream_events": lambda runnable: asyncio.run(events(runnable)),
    "stream of a chain": lambda runnable: list((RunnableLambda(str.strip) | runnable).stream("Why?")),
}
for kind in [retried, with_fallback]:
    for name, call in calls.items():
        attempts.clear()
        try:
            call(kind())
            end = "answered"
        except ConnectionError as refused:
            end = f"failed: {refused}"
        print(f"{kind.__name__}, {name}: {len(attempts)} attempts, {end}")
PY
packages/bin/python calls.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
retried, invoke: 3 attempts, answered
retried, batch: 3 attempts, answered
retried, batch_as_completed: 1 attempts, failed: refused
retried, stream: 1 attempts, failed: refused
retried, astream_events: 1 attempts, failed: refused
retried, stream of a chain: 1 attempts, failed: refused
with_fallback, invoke: 3 attempts, answered
with_fallback, batch: 3 attempts, answered
with_fallback, batch_as_completed: 3 attempts, answered
with_fallback, stream: 3 attempts, answered
with_fallback, astream_events: 3 attempts, answered
with_fallback, stream of a chain: 3 attempts, answered
END
