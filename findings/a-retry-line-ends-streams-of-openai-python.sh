#!/usr/bin/env bash
# The official Python client of OpenAI fails at a block of Server-Sent Events without data, such as `retry: 3000` or an `id`, and
# loses the first chunk after a byte order mark; the JavaScript client reads the same streams.
#
# Seen with openai 3.57.0, httpx-sse 0.4.3 and sseclient-py 1.9.0 (PyPI), openai 7.59.0 (npm). Guess: what the standard lets a
# server or a proxy send between events changes nothing for the reader. Behaviour: a block without data makes no event in the
# standard. The decoders of openai and httpx-sse make one with an empty text, and openai reads it as JSON: `JSONDecodeError` and
# no more of the answer. A mark at the start, which the standard drops, becomes a part of the name of the first field, so the
# chunk is skipped. A gateway that names a delay for reconnecting breaks all its Python clients, and none in JavaScript; its own
# tests with either do not show the other. Send `retry` in a block with data, and comments as signs of life.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet openai==3.57.0 httpx==0.28.1 httpx-sse==0.4.3 sseclient-py==1.9.0 requests==2.34.2
npm init -y >/dev/null
npm install --silent openai@7.59.0

cat >read.mjs <<'JS'
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'key', maxRetries: 0 });
const seen = [];
try {
  const stream = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true });
  for await (const chunk of stream) seen.push(chunk.choices[0].delta.content);
} catch (error) {
  seen.push(error.constructor.name);
}
console.log(seen.join(' '));
JS
cat >read.py <<'PY'
import http.server
import json
import subprocess
import threading

import httpx
import httpx_sse
import openai
import requests
import sseclient


def chunk(text):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n"


STREAMS = {
    "comment": ": hello\n\n" + chunk("one") + chunk("two"),
    "retry with data": "retry: 3000\n" + chunk("one") + chunk("two"),
    "retry alone": "retry: 3000\n\n" + chunk("one") + chunk("two"),
    "id alone": chunk("one") + "id: 7\n\n" + chunk("two"),
    "byte order mark": "\ufeff" + chunk("one") + chunk("two"),
}


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write((stream + "data: [DONE]\n\n").encode())

    def log_message(self, *_):
        pass


def with_openai():
    client = openai.OpenAI(base_url=base, api_key="key", max_retries=0)
    messages = [{"role": "user", "content": "hi"}]
    seen = []
    try:
        for found in client.chat.completions.create(model="m", messages=messages, stream=True):
            seen.append(found.choices[0].delta.content)
    except Exception as error:
        seen.append(type(error).__name__)
    return seen


def with_httpx_sse():
    with httpx.Client() as client, httpx_sse.connect_sse(client, "POST", base) as source:
        return [event.data for event in source.iter_sse()]


def with_sseclient():
    return [event.data for event in sseclient.SSEClient(requests.post(base, stream=True)).events()]


def short(data):
    return json.loads(data)["choices"][0]["delta"]["content"] if data.startswith("{") else data or "(empty)"


stream = ""
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
for name, stream in STREAMS.items():
    script = subprocess.run(["node", "read.mjs", base], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{name}: openai (Python) {' '.join(with_openai())}, openai (JavaScript) {script},")
    for reader, read in (("httpx-sse", with_httpx_sse), ("sseclient-py", with_sseclient)):
        print(f"  {reader} {' '.join(short(data) for data in read() if data != '[DONE]')}")
PY
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
comment: openai (Python) one two, openai (JavaScript) one two,
  httpx-sse one two
  sseclient-py one two
retry with data: openai (Python) one two, openai (JavaScript) one two,
  httpx-sse one two
  sseclient-py one two
retry alone: openai (Python) JSONDecodeError, openai (JavaScript) one two,
  httpx-sse (empty) one two
  sseclient-py one two
id alone: openai (Python) one JSONDecodeError, openai (JavaScript) one two,
  httpx-sse one (empty) two
  sseclient-py one two
byte order mark: openai (Python) two, openai (JavaScript) one two,
  httpx-sse two
  sseclient-py two
END
