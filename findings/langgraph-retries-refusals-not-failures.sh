#!/usr/bin/env bash
# The default retry policy of LangGraph repeats requests that the server refused (400, 401, 404), and gives up after timeouts and
# failed connections: with `requests` it is the other way round than meant, and with other clients it differs for each of them.
#
# Seen with langgraph 1.2.24, requests 2.34.2, httpx 0.28.1, openai 3.57.0. Guess: `RetryPolicy()` retries what is transient, that
# is, connection errors, timeouts, 429 and 5xx. Behaviour: 4xx of `requests` is retried, because the policy tests the truth of
# the response, and a response with an error is false. The connection errors and timeouts of `requests` are subclasses of
# `OSError`, and not of Python's `ConnectionError`: not retried. Of httpx they are retried, but 429 is not. `TimeoutError`, which
# `asyncio.timeout` raises, is not retried. Everything unknown is retried, so that a 400 of `openai` is sent three times (each
# with the retries of the client). A `retry_on` of your own is needed.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langgraph==1.2.24 requests==2.34.2 httpx==0.28.1 openai==3.57.0

cat >retries.py <<'PY'
import asyncio
import http.server
import threading
import time
from typing import TypedDict

import httpx
import openai
import requests
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        wanted = self.path.split("/")[1]
        if wanted == "silent":
            time.sleep(5)
            return
        self.send_response(int(wanted))
        self.send_header("content-length", "2")
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
here = f"http://127.0.0.1:{server.server_port}"
closed = "http://127.0.0.1:1"


class State(TypedDict):
    answer: str


def with_requests(url, timeout):
    requests.post(url, json={}, timeout=timeout).raise_for_status()


def with_httpx(url, timeout):
    httpx.post(url, json={}, timeout=timeout).raise_for_status()


def with_openai(url, timeout):
    client = openai.OpenAI(base_url=url, api_key="key", max_retries=0, timeout=timeout)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])


def attempts(send, url, timeout=60):
    count = 0

    def ask(state):
        nonlocal count
        count += 1
        send(url, timeout)

    graph = StateGraph(State)
    graph.add_node("ask", ask, retry_policy=RetryPolicy(initial_interval=0.01))
    graph.add_edge(START, "ask")
    try:
        graph.compile().invoke({"answer": ""})
    except Exception:
        pass
    return count


async def deadline():
    count = 0

    async def ask(state):
        nonlocal count
        count += 1
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)

    graph = StateGraph(State)
    graph.add_node("ask", ask, retry_policy=RetryPolicy(initial_interval=0.01))
    graph.add_edge(START, "ask")
    try:
        await graph.compile().ainvoke({"answer": ""})
    except TimeoutError:
        pass
    return count


for name, send in [("requests", with_requests), ("httpx", with_httpx), ("openai", with_openai)]:
    counts = {status: attempts(send, f"{here}/{status}") for status in [400, 404, 429, 503]}
    counts["no connection"] = attempts(send, closed)
    counts["no answer"] = attempts(send, f"{here}/silent", timeout=0.5)
    print(f"{name}: " + ", ".join(f"{what} {count}" for what, count in counts.items()))
print("asyncio.timeout:", asyncio.run(deadline()))
PY
packages/bin/python retries.py >seen 2>log || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
requests: 400 3, 404 3, 429 3, 503 3, no connection 1, no answer 1
httpx: 400 1, 404 1, 429 1, 503 3, no connection 3, no answer 3
openai: 400 3, 404 3, 429 3, 503 3, no connection 3, no answer 3
asyncio.timeout: 1
END
