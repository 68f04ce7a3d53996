#!/usr/bin/env bash
# DSPy's optimizers do not call the teacher model if the program has an LM of its own, and their repeated attempts at an example
# are one request, read from the cache.
#
# Seen with dspy 3.4.1. Guess: `teacher_settings={"lm": …}` says which model makes the demos, and `max_rounds=4` asks up to four
# times, as documented. Behaviour: both are set in the context, and an LM that a program has from `set_lm`, or from a file that
# was saved with one, is used before that of the context. The demos are then made by the small model itself, or by none if it is
# always wrong, and each further round repeats the first request with the first answer: no new `rollout_id` reaches it. The same
# search over `dspy.configure(lm=…)` does what it says. Nothing is logged. `set_lm(None)` before `compile` is the way out.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1
export DSPY_CACHEDIR="$place/cache"

cat >teach.py <<'PY'
import http.server
import json
import logging
import threading

import dspy

logging.disable(logging.CRITICAL)


def lm_that_says(model, answers):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            answer = answers[self.server.requests % len(answers)]
            self.server.requests += 1
            message = {"role": "assistant", "content": f"[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]"}
            body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": model,
                               "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, dspy.LM(f"openai/{model}", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="key")


def exact(example, found, trace=None):
    return example.answer == found.answer


examples = [dspy.Example(question=f"{n}?", answer="right").with_inputs("question") for n in range(6)]
for own in [False, True]:
    name = "LM of the program" if own else "LM of the context"
    small_server, small = lm_that_says(f"small-{own}", ["wrong"])
    large_server, large = lm_that_says(f"large-{own}", ["right"])
    program = dspy.Predict("question -> answer")
    if own:
        program.set_lm(small)
    with dspy.context(lm=small):
        search = dspy.BootstrapFewShot(metric=exact, teacher_settings={"lm": large}, max_labeled_demos=0)
        found = search.compile(program, trainset=examples)
    print(f"{name}: teacher asked {large_server.requests} times, student {small_server.requests}, {len(found.demos)} demos")

    server, moody = lm_that_says(f"moody-{own}", ["wrong", "wrong", "wrong", "right"])
    program = dspy.Predict("question -> answer")
    if own:
        program.set_lm(moody)
    with dspy.context(lm=moody):
        search = dspy.BootstrapFewShot(metric=exact, max_rounds=4, max_labeled_demos=0)
        found = search.compile(program, trainset=examples)
    print(f"{name}, four rounds: {server.requests} requests, {len(found.demos)} demos")
PY
packages/bin/python teach.py 2>log | grep -aE '^LM of' >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
LM of the context: teacher asked 4 times, student 0, 4 demos
LM of the context, four rounds: 16 requests, 4 demos
LM of the program: teacher asked 0 times, student 6, 0 demos
LM of the program, four rounds: 6 requests, 1 demos
END
