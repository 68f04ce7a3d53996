#!/usr/bin/env bash
# DSPy's cache answers for an embedding model with the vectors of another one, also in another process: the key has the source
# code of the function, not the object that it belongs to. Two servers with one model name share their answers, too.
#
# Seen with dspy 3.4.1. Guess: `dspy.Embedder(model.encode)`, as the documentation writes it, embeds with this model; a cache that
# cannot identify a function does not cache it. Behaviour: the source of `encode` is the same for all objects of its class, and
# the source of a function made by another is the same whatever it captured, so the second model is never called and its
# index has vectors of the first, with the wrong number of dimensions if they differ. Of an LM, `api_base` is left out of the
# key: a comparison of two servers, or of a server before and after an update, measures one of them twice. Nothing is logged.
# `caching=False` and `cache=False`, or another `DSPY_CACHEDIR` for each model, are the way out.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1 numpy==2.4.6
export DSPY_CACHEDIR="$place/cache"

cat >models.py <<'PY'
class Model:
    def __init__(self, vectors):
        self.vectors = vectors
        self.calls = 0

    def encode(self, texts):
        self.calls += 1
        return [self.vectors[text] for text in texts]


def embedding_with(model):
    return lambda texts: model.encode(texts)


first = Model({"tea": [1.0, 0.0], "rust": [0.0, 1.0]})
second = Model({"tea": [0.5, 0.5, 0.5], "rust": [0.1, 0.2, 0.9]})
PY
cat >embed.py <<'PY'
import sys

import dspy
import models

model = getattr(models, sys.argv[1])
for name, function in [("a method", model.encode), ("a function that captures it", models.embedding_with(model))]:
    for caching in [True, False]:
        vector = dspy.Embedder(function, caching=caching)(["tea", "rust"])[0].tolist()
        print(f"{sys.argv[1]} model, {name}, caching={caching}: tea is {vector}")
print(f"{sys.argv[1]} model was called {model.calls} times for 4 requests")
PY
cat >servers.py <<'PY'
import http.server
import json
import threading

import dspy


def server_that_says(colour):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.server.requests += 1
            message = {"role": "assistant", "content": f"[[ ## colour ## ]]\n{colour}\n\n[[ ## completed ## ]]"}
            body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "tuned",
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
    return server


old, new = server_that_says("red"), server_that_says("blue")
for cache in [True, False]:
    for name, server in [("old", old), ("new", new)]:
        lm = dspy.LM("openai/tuned", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="key", cache=cache)
        with dspy.context(lm=lm):
            print(f"{name} server, cache={cache}: {dspy.Predict('thing -> colour')(thing='sky').colour}")
print(f"requests: {old.requests} to the old server, {new.requests} to the new one")
PY
{ packages/bin/python embed.py first; packages/bin/python embed.py second; packages/bin/python servers.py; } 2>log >seen || {
  tail -5 log >&2
  exit 1
}
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
first model, a method, caching=True: tea is [1.0, 0.0]
first model, a method, caching=False: tea is [1.0, 0.0]
first model, a function that captures it, caching=True: tea is [1.0, 0.0]
first model, a function that captures it, caching=False: tea is [1.0, 0.0]
first model was called 4 times for 4 requests
second model, a method, caching=True: tea is [1.0, 0.0]
second model, a method, caching=False: tea is [0.5, 0.5, 0.5]
second model, a function that captures it, caching=True: tea is [1.0, 0.0]
second model, a function that captures it, caching=False: tea is [0.5, 0.5, 0.5]
second model was called 2 times for 4 requests
old server, cache=True: red
new server, cache=True: red
old server, cache=False: red
new server, cache=False: blue
requests: 2 to the old server, 1 to the new one
END
