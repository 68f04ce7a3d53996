#!/usr/bin/env python3
"""One evaluation against a slow LM: how long it takes beside what it would take if only the LM took time.

    python3 bench/evaluation.py                    1,000 examples, 64 at a time, an LM of 50 ms
    python3 bench/evaluation.py --rounds 5 --server target/release/dsrs-server

It builds the server and the stand-in LM as bench/load.py does, starts both, and evaluates a graph of one node so many
times. The time is the server's own, from `started_at` to `finished_at`; the ideal is ceil(examples / concurrency) times
the latency. Numbers are only worth something on a machine that does nothing else: the load that it had is printed
beside them.
"""

import argparse
import math
import os
import pathlib
import shutil
import tempfile
import time
from datetime import datetime

from load import Server, build, call, fail, start_fakelm, stop

GRAPH = {"name": "evaluation-bench", "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}}


def example(number):
    return {"inputs": {"question": "number %d" % number}, "expected": {"answer": "yes"}}


def seconds_of(evaluation):
    def at(name):
        return datetime.fromisoformat(evaluation[name].replace("Z", "+00:00"))

    return (at("finished_at") - at("started_at")).total_seconds()


def evaluate(server, options):
    body = {"dataset": "bench", "metric": "exact", "concurrency": options.concurrency}
    evaluation = call("POST", server.url + "/v1/graphs/evaluation-bench/evaluations", body)
    while evaluation["finished_at"] is None:
        # Seldom, so that asking takes nothing from what is measured.
        time.sleep(0.5)
        evaluation = call("GET", server.url + "/v1/evaluations/" + evaluation["id"])
    return evaluation


def prepare(server, options):
    """Posts the graph and the examples; returns the seconds that the LM alone would take."""
    call("POST", server.url + "/v1/graphs", GRAPH)
    examples = [example(number) for number in range(options.examples)]
    call("POST", server.url + "/v1/datasets", {"name": "bench", "examples": examples})
    return math.ceil(options.examples / options.concurrency) * options.latency_ms / 1000


def measure(server, options):
    """Seconds of one evaluation; fails unless every example has a score."""
    evaluation = evaluate(server, options)
    counts = evaluation["counts"]
    if counts["done"] != options.examples or counts["failed"] or counts.get("unmeasured"):
        fail("%s" % counts)
    return seconds_of(evaluation)


def print_rounds(server, options):
    ideal = prepare(server, options)
    print("ideal     %6.3f s" % ideal)
    for number in range(options.rounds):
        time.sleep(1)
        took = measure(server, options)
        print("round %d   %6.3f s, %.3f of the ideal, load %.1f" % (number + 1, took, took / ideal, os.getloadavg()[0]), flush=True)


def run(options, scratch):
    server_binary, fakelm_binary, _ = build(options)
    fakelm, lm = start_fakelm(fakelm_binary, "--latency-ms", str(options.latency_ms))
    server = None
    try:
        server = Server(server_binary, scratch / "data", lm, "ack")
        server.ready()
        print_rounds(server, options)
    finally:
        if server:
            stop(server.process)
        stop(fakelm)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency-ms", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", help="a binary to measure instead of building one")
    options = parser.parse_args()
    options.forwarder = False
    # Not inside the clone: the private Postgres may run as another user, who must be able to reach it.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
    scratch.chmod(0o755)
    try:
        run(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
