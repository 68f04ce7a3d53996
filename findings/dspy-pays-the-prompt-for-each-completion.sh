#!/usr/bin/env bash
# DSPy asks for five completions of one prompt by five requests, one after the other, and pays the prompt five times. The engine
# that earlier versions used sends one request with `n: 5`, and bills the prompt once.
#
# Seen with dspy 3.4.1 (litellm 1.110.2). Guess: `n=5` is the member `n` of the request of the OpenAI protocol, as in DSPy before.
# Behaviour: with `engine="auto"`, the default, the request goes to the new native engine, whose requests have no `n`; DSPy
# repeats it. The results look the same. COPRO with its `breadth` of 10 and self-consistency over a long context cost
# almost ten times the input tokens and the time, and an endpoint with a limit of requests is reached earlier. Nothing
# is logged; the tokens of `track_usage` show it. `engine="litellm"` sends one request.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1 litellm==1.110.2
export DSPY_CACHEDIR="$place/cache"

cat >several.py <<'PY'
import http.server
import json
import logging
import threading

import dspy

logging.disable(logging.CRITICAL)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        count = request.get("n", 1)
        self.server.requests.append(request.get("n"))
        message = {"role": "assistant", "content": "[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]"}
        choices = [{"index": index, "message": message, "finish_reason": "stop"} for index in range(count)]
        usage = {"prompt_tokens": 1000, "completion_tokens": 10 * count, "total_tokens": 1000 + 10 * count}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": choices,
                           "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
for engine in ["auto", "litellm"]:
    server.requests = []
    with dspy.context(lm=dspy.LM("openai/m", api_base=url, api_key="key", cache=False, engine=engine)):
        with dspy.track_usage() as tracker:
            found = dspy.Predict("question -> answer", n=5)(question="Is it?")
    tokens = tracker.get_total_tokens()["openai/m"]
    print(f"engine {engine}: {len(found.completions)} completions, n of the requests: {server.requests}, "
          f"{tokens['prompt_tokens']} input and {tokens['completion_tokens']} output tokens")
PY
packages/bin/python several.py 2>log | grep -a '^engine' >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
engine auto: 5 completions, n of the requests: [None, None, None, None, None], 5000 input and 50 output tokens
engine litellm: 5 completions, n of the requests: [5], 1000 input and 50 output tokens
END
