#!/usr/bin/env python3
"""Servers of an older build are replaced by those of a newer one while work is in progress, and engines are exchanged.

Started by scripts/upgrade-test.sh. Two servers work on one database. In each step, runs and a batch are accepted over
both, and then each server is stopped with SIGTERM and started as the next step says. At the end every run and every
item has succeeded, and the model was asked for each at least once; requests in flight at a stop are sent again.
"""

import collections
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

RUNS, ITEMS = 30, 60
GRAPH = {
    "name": "line",
    "nodes": {
        "first": {"strategy": "predict", "signature": "question -> thought"},
        "second": {"strategy": "predict", "signature": "question, thought -> answer"},
    },
    "edges": [{"from": "first.thought", "to": "second.thought"}],
}
ASKED = collections.Counter()


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = "\n".join(str(message.get("content")) for message in body["messages"])
        question = re.findall(r"Q\d+\.\d+", text)[-1]
        node = "second" if re.search(r"\]\]\s*thought of", text) else "first"
        ASKED[question, node] += 1
        time.sleep(0.4)
        said = "[[ ## thought ## ]]\nthought of %s\n\n[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]" % question
        answer = {
            "id": "x", "object": "chat.completion", "created": 0, "model": "x",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        data = json.dumps(answer).encode()
        try:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def until(what, attempt, seconds=90):
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = attempt()
            if found:
                return found
        except OSError as error:
            found = error
        if time.monotonic() > deadline:
            sys.exit("waited too long for %s: %s" % (what, found))
        time.sleep(0.1)


class Server:
    def __init__(self, place, model, scratch):
        self.url, self.model, self.log = "http://127.0.0.1:%d" % free_port(), model, scratch / (place + ".log")
        self.process = None

    def start(self, binary, engine):
        environment = {name: text for name, text in os.environ.items() if not name.startswith(("DSRS_", "OPENAI_"))}
        environment.update(
            DSRS_BIND=self.url[7:], DATABASE_URL=os.environ["DATABASE_URL"], OPENAI_BASE_URL=self.model,
            OPENAI_API_KEY="none", DSRS_SHUTDOWN_TIMEOUT="300ms", DSRS_WORKER_CONCURRENCY="16", RUST_LOG="warn", **engine)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([binary, "serve"], env=environment, stdout=log, stderr=log)
        try:
            until("a server", self.is_ready, 60)
        except SystemExit:
            sys.exit("a server does not start:\n" + self.log.read_text()[-2000:])

    def is_ready(self):
        if self.process.poll() is not None:
            raise SystemExit("the server has ended")
        return call(self.url + "/readyz")

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


def start_restate(scratch):
    ports = [free_port() for _ in range(4)]
    settings = scratch / "restate.toml"
    settings.write_text(
        'auto-provision = true\nbind-ip = "127.0.0.1"\nbind-port = %d\nlisten-mode = "tcp"\nadvertised-host = "127.0.0.1"\n'
        'disable-telemetry = true\nbase-dir = "%s"\n[ingress]\nbind-port = %d\n[admin]\nbind-port = %d\ndisable-web-ui = true\n'
        % (ports[0], scratch / "restate", ports[1], ports[2]))
    log = (scratch / "restate.log").open("ab")
    node = subprocess.Popen([os.environ["RESTATE_SERVER"], "-c", str(settings), "--no-logo"], stdout=log, stderr=log)
    until("Restate", lambda: call("http://127.0.0.1:%d/restate/health" % ports[1]))
    url = "http://127.0.0.1:%d"
    return node, {
        "DSRS_RESTATE_INGRESS": url % ports[1], "DSRS_RESTATE_ADMIN": url % ports[2],
        "DSRS_RESTATE_BIND": "127.0.0.1:%d" % ports[3], "DSRS_RESTATE_URL": url % ports[3]}


def main():
    old, new = os.environ["OLD_SERVER"], os.environ["DSRS_SERVER"]
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        node, restate = start_restate(scratch)
        servers = [Server(place, "http://127.0.0.1:%d/v1" % model.server_port, scratch) for place in ("one", "two")]
        try:
            # Each step: the program and settings with which the servers run next.
            steps = [
                ("the older build", old, {}),
                ("the newer build", new, {}),
                ("Restate", new, {"DSRS_ENGINE": "restate", **restate}),
                ("Postgres again", new, {"DSRS_ENGINE": "postgres", **restate}),
            ]
            work = []
            for number, (what, binary, engine) in enumerate(steps):
                for server in servers:
                    server.stop()
                    server.start(binary, engine)
                    if number == 0 and server is servers[0]:
                        call(server.url + "/v1/graphs", GRAPH)
                    if engine.get("DSRS_ENGINE") == "restate" and server is servers[0]:
                        environment = dict(os.environ, **engine)
                        subprocess.run([new, "engine", "check", "--apply"], env=environment, check=True, stdout=subprocess.DEVNULL)
                print("step %d: %s" % (number, what), flush=True)
                for run in range(RUNS):
                    body = {"inputs": {"question": "Q%d.%d" % (number, run)}}
                    accepted = call(servers[run % 2].url + "/v1/graphs/line/runs", body)
                    work.append("/v1/runs/" + accepted["id"])
                items = [{"question": "Q%d.%d" % (number, 1000 + item)} for item in range(ITEMS)]
                batch = call(servers[0].url + "/v1/graphs/line/batches", {"items": items})
                work.append("/v1/batches/" + batch["id"])
                # In the middle of the work: the next step stops the servers.
                time.sleep(1.0)
            for path in work:
                ended = until(path, lambda: (lambda found: found["status"] not in ("queued", "running") and found)(call(servers[0].url + path)))
                if ended["status"] != "succeeded":
                    sys.exit("%s: %s" % (path, json.dumps(ended)[:600]))
            again = sum(times - 1 for times in ASKED.values())
            print("%d runs and items over %d upgrades: all succeeded; %d requests in flight were sent again"
                  % (len(steps) * (RUNS + ITEMS), len(steps) - 1, again))
            if len(ASKED) != 2 * len(steps) * (RUNS + ITEMS):
                sys.exit("the model was asked %d different questions" % len(ASKED))
        finally:
            for server in servers:
                server.stop()
            node.kill()
            model.shutdown()


main()
