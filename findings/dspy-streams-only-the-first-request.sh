#!/usr/bin/env bash
# A program wrapped by dspy.streamify once streams its first call; every later one is silent until its end.
#
# Seen with dspy 3.4.1 (stanfordnlp/dspy#8425). Guess: `stream = dspy.streamify(program, stream_listeners=[…])` at the start of a
# web service serves each request, as the program does. Behaviour: the listeners are objects that all calls share, and one marks
# itself as ended after its field. `allow_reuse=True` resets it in the middle of the calls of others, which then lose texts.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1

cat >twice.py <<'PY'
import asyncio
import http.server
import json
import logging
import threading

import dspy

logging.disable(logging.CRITICAL)
PARTS = ["[[ ## answer ## ]]\n", "Lima ", "it ", "is", "\n\n[[ ## completed ## ]]"]


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for text, reason in [*((part, None) for part in PARTS), ("", "stop")]:
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
dspy.configure(lm=dspy.LM("openai/m", api_base=url, api_key="none", cache=False))
listener = dspy.streaming.StreamListener("answer")
stream = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[listener])


async def request(question):
    values = [value async for value in stream(question=question)]
    return "".join(getattr(value, "chunk", "") for value in values), values[-1].answer


for number in (1, 2):
    text, answer = asyncio.run(request(f"question {number}"))
    print(f"request {number}: streamed {text!r}, answer {answer!r}")
PY
packages/bin/python twice.py 2>/dev/null >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
request 1: streamed 'Lima it is', answer 'Lima it is'
request 2: streamed '', answer 'Lima it is'
END
