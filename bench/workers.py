#!/usr/bin/env python3
"""A large batch over one worker and over several, while the model is the limit.

    python3 bench/workers.py --server PATH --fakelm PATH --items 100000 --workers 1,3 --model-ms 500

Each round has a Postgres of its own, a server that accepts the batch and does not work on it, and so many workers. The
stand-in LM answers after that time. A worker has `--at-once` items in progress. Linux only.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import load

GRAPH = {"name": "workers-bench", "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}}


def worker(binary, url, lm, scratch, at_once):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DSRS_", "OPENAI_", "DATABASE_"))}
    environment.update(DATABASE_URL=url, OPENAI_BASE_URL=lm, OPENAI_API_KEY="none", DSRS_MODEL="fake", RUST_LOG="warn",
                       DSRS_WORKER_BATCH_CONCURRENCY=str(at_once))
    with (scratch / "worker.log").open("ab") as log:
        return subprocess.Popen([binary, "worker"], env=environment, stdout=log, stderr=log, cwd=scratch)


def measure(given, count, lm, scratch):
    server = load.Server(given.server, scratch / "data", lm, "ack", {"DSRS_WORKER_ENABLED": "false"})
    workers = []
    try:
        server.ready()
        load.call("POST", server.url + "/v1/graphs", GRAPH)
        lines = next((scratch / "data").rglob("postmaster.pid")).read_text().split("\n")
        url = "postgres://dsrs@localhost:%s/dsrs?host=%s" % (lines[3].strip(), lines[4].strip())
        items = [{"question": "number %d" % number} for number in range(given.items)]
        batch = load.call("POST", server.url + "/v1/graphs/workers-bench/batches", {"items": items})
        began = time.monotonic()
        workers = [worker(given.server, url, lm, scratch, given.at_once) for _ in range(count)]
        while batch["finished_at"] is None:
            time.sleep(0.1)
            batch = load.call("GET", server.url + "/v1/batches/" + batch["id"])
        seconds = time.monotonic() - began
        if batch["counts"]["succeeded"] != given.items:
            load.fail("%s" % batch["counts"])
        return seconds
    finally:
        for process in [*workers, server.process]:
            process.send_signal(signal.SIGTERM)
        for process in [*workers, server.process]:
            process.wait(60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--fakelm", required=True)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--workers", default="1,3")
    parser.add_argument("--model-ms", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=64)
    given = parser.parse_args()
    fakelm, lm = load.start_fakelm(given.fakelm, "--latency-ms", str(given.model_ms))
    first = None
    for count in (int(count) for count in given.workers.split(",")):
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
        scratch.chmod(0o755)  # as root, Postgres runs as another user
        try:
            seconds = measure(given, count, lm, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        first = first or seconds
        bound = given.items * given.model_ms / 1000 / given.at_once / count
        print("%d workers: %d items in %.1f s, %.2f times as fast; the model alone takes %.1f s"
              % (count, given.items, seconds, first / seconds, bound))
    load.stop(fakelm)


if __name__ == "__main__":
    main()
