#!/usr/bin/env python3
"""Clients beside a provider whose answers end in every way that providers were seen to end them (docs/endpoints.md).

    python3 bench/odd_answers.py --server target/debug/dsrs-server --seconds 600 --seed 7

The provider chooses for each request, by the seed, the number of the question and how often it was asked: whole and cut
answers, refusals, errors within answers of status 200, a used-up quota, empty answers, answers in the reasoning; streams
that stay open, with empty and glued events. 64 clients ask, half of them streamed. At the end:

- no run succeeded with a part of an answer,
- the tokens of all runs are those that the provider counted,
- nothing was asked again after an answer that ends a run,
- as many requests as the model allows at once are answered at once: no permit is lost.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

import load

CLIENTS = 64
PERMITS = 16
WHOLE = "[[ ## answer ## ]]\nQ%d whole\n\n[[ ## completed ## ]]"
PART = "[[ ## answer ## ]]\nQ%d par"
# Behaviours after which a run has ended: another request of it would be bought without need.
LAST = {"whole", "cut", "filtered", "refused", "quota", "in_reasoning", "open_stream", "glued_stream", "uncounted"}
AGAIN = {"error_in_choice", "error_beside", "error_last", "abort", "busy", "empty"}


class Provider:
    """A chat completion API, and what it has sold."""

    def __init__(self, seed):
        self.seed = seed
        self.asked = collections.Counter()
        self.ended = {}
        self.mistakes = []
        self.output_tokens = 0
        self.seen = collections.Counter()
        self.calm = False

    def choose(self, number):
        """What happens to this request, the same for the same seed."""
        self.asked[number] += 1
        if number in self.ended:
            self.mistakes.append("Q%d was asked again after `%s`" % (number, self.ended[number]))
        if self.calm:
            return "whole"
        chance = random.Random("%s %s %s" % (self.seed, number, self.asked[number]))
        kinds = sorted(LAST) + sorted(AGAIN)
        kind = chance.choice(kinds) if self.asked[number] < 2 else "whole"
        if kind in LAST:
            self.ended[number] = kind
        self.seen[kind] += 1
        return kind

    def sell(self, tokens):
        self.output_tokens += tokens
        return tokens

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                await self.answer(request, writer)
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            writer.close()

    async def answer(self, request, writer):
        said = " ".join(m["content"] for m in request["messages"] if m["role"] == "user")
        number = int(said.split("Q#")[1].split()[0].strip("."))
        kind = self.choose(number)
        if kind == "busy":
            return send(writer, 429, {"error": {"message": "slow down"}}, "retry-after-ms: 5\r\n")
        if kind == "quota":
            return send(writer, 429, {"error": {"code": "insufficient_quota", "message": "no credit"}})
        if self.calm:
            await asyncio.sleep(0.5)
        text, reason, message, error = WHOLE % number, "stop", {}, None
        usage = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
        counted = 20
        if kind == "cut":
            text, reason = PART % number, "length"
        elif kind == "filtered":
            text, reason = PART % number, "content_filter"
        elif kind == "refused":
            text, message = None, {"refusal": "I will not."}
        elif kind == "empty":
            text = ""
        elif kind == "in_reasoning":
            text, message = None, {"reasoning_content": WHOLE % number}
        elif kind == "uncounted":
            usage, counted = dict(usage, total_tokens=130), 120
            usage["completion_tokens_details"] = {"reasoning_tokens": 100}
        elif kind in ("error_in_choice", "error_beside", "error_last", "abort"):
            text, counted = PART % number, 0
            reason = "abort" if kind == "abort" else "error"
            error = None if kind == "abort" else {"code": 502, "message": "gone"}
        self.sell(counted)
        stream = request.get("stream") or kind in ("open_stream", "glued_stream")
        if stream and request.get("stream"):
            return await self.stream(writer, kind, text, reason, message, error, usage)
        choice = {"index": 0, "finish_reason": reason, "message": dict({"role": "assistant", "content": text}, **message)}
        body = {"model": "odd", "choices": [choice], "usage": usage}
        if error and kind == "error_in_choice":
            choice["error"] = error
        elif error:
            body["error"] = error
        send(writer, 200, body)

    async def stream(self, writer, kind, text, reason, message, error, usage):
        """The same answer in events."""
        pieces = [text[:9], text[9:]] if text else []
        chunks = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": ""}]} for piece in pieces]
        last = {"index": 0, "delta": message, "finish_reason": reason}
        if error and kind == "error_in_choice":
            last["error"] = error
        chunks.append({"choices": [last]})
        chunks.append({"choices": [], "usage": usage})
        if error and kind != "error_in_choice":
            chunks.append({"error": error})
        lines = ["data: %s" % json.dumps(chunk) for chunk in chunks]
        gap = "\n" if kind == "glued_stream" else "\n\n: alive\n\ndata:\n\n"
        events = gap.join(lines) + "\n\n" + ("" if kind == "open_stream" else "data: [DONE]\n\n")
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        for start in range(0, len(events), 40):
            piece = events[start:start + 40].encode()
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
        if kind != "open_stream":
            writer.write(b"0\r\n\r\n")
        await writer.drain()


def send(writer, status, body, headers=""):
    body = json.dumps(body)
    writer.write(("HTTP/1.1 %d X\r\ncontent-type: application/json\r\n%scontent-length: %d\r\n\r\n%s"
                  % (status, headers, len(body), body)).encode())


def start(provider):
    """The address of the provider, in a thread of its own."""
    ready, address = threading.Event(), []

    async def run():
        server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
        address.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    ready.wait()
    return "http://127.0.0.1:%d/v1" % address[0]


def ask(url, number, streamed):
    """Runs the graph; returns the record of its run."""
    body = json.dumps({"inputs": {"question": "Q#%d ." % number}}).encode()
    headers = {"Content-Type": "application/json"}
    if streamed:
        headers["Accept"] = "text/event-stream"
    request = load.urllib.request.Request(url + "/v1/graphs/odd/execute", body, headers)
    try:
        with load.DIRECT.open(request, timeout=120) as answer:
            text = answer.read().decode()
    except load.urllib.error.HTTPError as error:
        text = error.read().decode()
    if streamed and "data: " in text:
        text = [line for line in text.splitlines() if line.startswith("data: ")][-1][6:]
    found = json.loads(text)
    return load.call("GET", url + "/v1/runs/" + (found.get("run_id") or found["id"]), seconds=120)


def client(url, numbers, until, runs):
    while time.monotonic() < until:
        with numbers[1]:
            numbers[0] += 1
            number = numbers[0]
        runs.append((number, ask(url, number, number % 2 == 0)))


def at_once(url, count, first):
    """Whether as many requests as are allowed are answered at the same time."""
    began, runs = time.monotonic(), []
    threads = [threading.Thread(target=lambda n=n: runs.append(ask(url, n, False))) for n in range(first, first + count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queued = [span.get("queued_ms", 0) for run in runs for span in run["trace"]["spans"] if span["kind"] == "lm"]
    return all(run["status"] == "succeeded" for run in runs) and max(queued) < 400, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    provider = Provider(given.seed)
    address = start(provider)
    extra = {"DSRS_MODELS__DEFAULT__MODEL": "odd", "DSRS_MODELS__DEFAULT__BASE_URL": address,
             "DSRS_MODELS__DEFAULT__MAX_CONCURRENT": str(PERMITS)}
    with tempfile.TemporaryDirectory() as scratch:
        server = load.Server(given.server, pathlib.Path(scratch) / "data", address, "ack", extra)
        try:
            server.ready()
            node = {"strategy": "predict", "signature": "question -> answer", "lm": {"max_tokens": 50}}
            load.call("POST", server.url + "/v1/graphs", {"name": "odd", "nodes": {"ask": node}})
            numbers, runs = [0, threading.Lock()], []
            until = time.monotonic() + given.seconds
            clients = [threading.Thread(target=client, args=(server.url, numbers, until, runs)) for _ in range(CLIENTS)]
            for one in clients:
                one.start()
            for one in clients:
                one.join()
            provider.calm = True
            answered, took = at_once(server.url, PERMITS, numbers[0] + 1)
        finally:
            load.stop(server.process)
    return report(provider, runs, answered, took)


def report(provider, runs, answered, took):
    problems = list(provider.mistakes)
    for number, run in runs:
        if run["status"] == "succeeded" and run["outputs"] != {"answer": "Q%d whole" % number}:
            problems.append("Q%d succeeded with %r" % (number, run["outputs"]))
    counted = sum(run["usage"]["output_tokens"] for _, run in runs)
    sold = provider.output_tokens - PERMITS * 20
    if counted != sold:
        problems.append("the runs count %d output tokens, the provider sold %d" % (counted, sold))
    if not answered:
        problems.append("%d requests at once took %.1f s: a permit or a connection is lost" % (PERMITS, took))
    ends = collections.Counter(run["status"] if run["status"] == "succeeded" else run["error"]["code"] for _, run in runs)
    print("runs %d: %s" % (len(runs), dict(ends)))
    print("behaviours: %s" % dict(provider.seen))
    print("output tokens %d, requests %d" % (counted, sum(provider.asked.values())))
    for problem in problems[:20]:
        print("PROBLEM " + problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
