#!/usr/bin/env python3
"""One batch of very many items: how long it takes and how much memory the server takes for it.

    python3 bench/batch.py http://127.0.0.1:8080 --pid $(pgrep -x dsrs-server) --items 100000

Wants a running server without a graph `batch-bench`, whose node is an op, so that no model is asked. The body is
sent while it is made, and the results are counted while they come. Linux only; numbers are only worth something on
a machine that does nothing else.
"""

import argparse
import http.client
import json
import time
import urllib.parse

GRAPH = {
    "name": "batch-bench",
    "inputs": {"question": "str"},
    "nodes": {"loud": {"strategy": "upper"}},
    "edges": [{"from": "input.question", "to": "loud.text"}],
}

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("url")
parser.add_argument("--pid", type=int, help="the server's, for its memory")
parser.add_argument("--items", type=int, default=100_000)
parser.add_argument("--bytes", type=int, default=500, help="of each item")
asked = parser.parse_args()
server = http.client.HTTPConnection(urllib.parse.urlsplit(asked.url).netloc, timeout=600)


def call(method, path, body=None, headers=None):
    server.request(method, path, body, headers or {"Content-Type": "application/json"})
    answer = server.getresponse()
    if answer.status >= 300:
        raise SystemExit("%s %s: %s" % (method, path, answer.read().decode()))
    return answer


def peak_memory():
    if asked.pid is None:
        return "?"
    with open("/proc/%d/status" % asked.pid, encoding="ascii") as status:
        kib = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return "%d MiB" % (int(kib) >> 10)


def lines():
    filler = "x" * asked.bytes
    for start in range(0, asked.items, 500):
        numbers = range(start, min(start + 500, asked.items))
        yield "".join('{"question": "%d %s"}\n' % (number, filler) for number in numbers).encode()


call("POST", "/v1/graphs", json.dumps(GRAPH)).read()
before, begun = peak_memory(), time.monotonic()


def tell(what):
    print("%-10s %6.1f s, peak memory %s" % (what, time.monotonic() - begun, peak_memory()))


print("before            , peak memory", before)
jsonl = {"Content-Type": "application/jsonl"}
batch = json.load(call("POST", "/v1/graphs/batch-bench/batches", lines(), jsonl))
tell("accepted")
while batch["finished_at"] is None:
    time.sleep(0.5)
    batch = json.load(call("GET", "/v1/batches/" + batch["id"]))
tell("run")
results = call("GET", "/v1/batches/%s/results" % batch["id"], headers={"Accept": "application/jsonl"})
count = sum(1 for _ in results)
tell("read out")
print("%d results, %s" % (count, json.dumps(batch["counts"])))
