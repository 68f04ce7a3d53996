#!/usr/bin/env bash
# `dspy.track_usage` around an evaluation counts all tokens with one thread, and none with more.
#
# Seen with dspy 3.4.1. Guess: the tracker counts what is called within its block, as the documentation says for a nested one, and
# `num_threads` changes only the duration. Behaviour: the executor of `Evaluate`, `dspy.Parallel`, `Module.batch` and of the
# optimizers gives each of its threads a copy of the tracker, which is dropped; with `num_threads=1` it runs in the thread of
# the caller, and counts. A program that calls its own `dspy.Parallel` reports the tokens of its other calls only, in
# `get_lm_usage` as well. A budget that is checked with the tracker is never reached, without an error, and a test with one
# thread shows nothing. What counts is the bill, or `usage` of the predictions themselves, added up by the caller.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1
export DSPY_CACHEDIR="$place/cache"

cat >usage.py <<'PY'
import http.server
import json
import logging
import threading

import dspy

logging.disable(logging.CRITICAL)
MESSAGE = {"role": "assistant", "content": "[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]"}
ANSWER = {"id": "c", "object": "chat.completion", "created": 0, "model": "m",
          "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        with lock:
            self.server.billed += ANSWER["usage"]["total_tokens"]
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


lock = threading.Lock()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
dspy.configure(lm=dspy.LM("openai/m", api_base=url, api_key="key", cache=False), track_usage=True)
examples = [dspy.Example(question=f"{n}?", answer="yes").with_inputs("question") for n in range(6)]
ask = dspy.Predict("question -> answer")


class Panel(dspy.Module):
    def __init__(self, threads):
        super().__init__()
        self.ask = dspy.Predict("question -> answer")
        self.threads = threads

    def forward(self, question):
        self.ask(question=question)
        panel = dspy.Parallel(num_threads=self.threads, disable_progress_bar=True)
        votes = panel([(self.ask, {"question": f"{question} {n}"}) for n in range(3)])
        return dspy.Prediction(answer=votes[0].answer)


def exact(example, found, trace=None):
    return example.answer == found.answer


def total(usage):
    return sum(of_model["total_tokens"] for of_model in usage.values())


for threads in [1, 4]:
    work = {
        "Evaluate": lambda: dspy.Evaluate(devset=examples, metric=exact, num_threads=threads)(ask),
        "Parallel": lambda: dspy.Parallel(num_threads=threads, disable_progress_bar=True)([(ask, e) for e in examples]),
    }
    for name, run in work.items():
        server.billed = 0
        with dspy.track_usage() as tracker:
            run()
        print(f"{name}, {threads} threads: {server.billed} tokens billed, {total(tracker.get_total_tokens())} counted")
    server.billed = 0
    counted = total(Panel(threads)(question="Is it?").get_lm_usage())
    print(f"a program with Parallel, {threads} threads: {server.billed} tokens billed, {counted} counted")
PY
packages/bin/python usage.py 2>log | grep -a counted >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
Evaluate, 1 threads: 660 tokens billed, 660 counted
Parallel, 1 threads: 660 tokens billed, 660 counted
a program with Parallel, 1 threads: 440 tokens billed, 440 counted
Evaluate, 4 threads: 660 tokens billed, 0 counted
Parallel, 4 threads: 660 tokens billed, 0 counted
a program with Parallel, 4 threads: 440 tokens billed, 110 counted
END
