#!/usr/bin/env python3
"""Background runs of a graph, a diamond unless named, the LM at once: what they cost the server and Postgres.

    python3 bench/background.py --server before=PATH --server after=PATH --runs 3000 --rounds 3
    python3 bench/background.py --server new=PATH --restate "$(scripts/ensure-restate.sh)"     with each engine

Each round starts every server on a Postgres of its own, accepts the runs over 16 connections, and waits until the
last one has ended; `worker.concurrency` (64) are in progress at a time. Flushes and WAL are those of `pg_stat_wal`, CPU
is read out of /proc. Linux only; psql must be there. Believe CPU time, flushes and ratios: the driver shares the cores.
"""

import argparse
import http.client
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import json
import urllib.request

import load

POSTERS = 16
ROLE = "dsrs"


def sql(data, text):
    """The fields of the answer. The private Postgres has one database, named like its role."""
    lines = next(data.rglob("postmaster.pid")).read_text().split("\n")
    command = ["psql", "-qXAtF", " ", "-h", lines[4].strip(), "-p", lines[3].strip(), "-U", ROLE, "-d", ROLE, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def accept(url, case, count):
    connection = http.client.HTTPConnection(url[7:], timeout=60)
    body = json.dumps({"inputs": load.INPUTS})
    for _ in range(count):
        connection.request("POST", "/v1/graphs/bench-%s/runs" % case, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 202:
            load.fail("%d %s" % (answer.status, text[:300]))


class Restate:
    """One node of Restate, with its files in `scratch`."""

    def __init__(self, binary, scratch):
        self.ingress, self.admin, self.workers = load.free_port(), load.free_port(), load.free_port()
        settings = scratch / "restate.toml"
        settings.write_text("""
node-name = "one"
auto-provision = true
bind-ip = "127.0.0.1"
bind-port = %d
listen-mode = "tcp"
advertised-host = "127.0.0.1"
disable-telemetry = true
base-dir = "%s"
[ingress]
bind-port = %d
[admin]
bind-port = %d
disable-web-ui = true
""" % (load.free_port(), scratch / "restate", self.ingress, self.admin))
        log = (scratch / "restate.log").open("ab")
        self.process = subprocess.Popen([binary, "-c", str(settings), "--no-logo"], stdout=log, stderr=log)
        for _ in range(600):
            try:
                urllib.request.urlopen("http://127.0.0.1:%d/restate/health" % self.ingress, timeout=2)
                return
            except OSError:
                time.sleep(0.1)
        load.fail("Restate does not start: %s" % (scratch / "restate.log").read_text()[-2000:])

    def settings(self):
        url = "http://127.0.0.1:%d"
        return {
            "DSRS_ENGINE": "restate", "DSRS_RESTATE_INGRESS": url % self.ingress, "DSRS_RESTATE_ADMIN": url % self.admin,
            "DSRS_RESTATE_BIND": "127.0.0.1:%d" % self.workers, "DSRS_RESTATE_URL": url % self.workers}

    def register(self):
        body = json.dumps({"uri": "http://127.0.0.1:%d" % self.workers, "force": True}).encode()
        request = urllib.request.Request(
            "http://127.0.0.1:%d/deployments" % self.admin, body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=60)


UNENDED = "select count(*) from runs where status in ('queued', 'running')"


def measure(binary, case, runs, lm, scratch, engine=None):
    data = scratch / "data"
    restate = Restate(engine, scratch) if engine else None
    server = load.Server(binary, data, lm, "ack", restate.settings() if restate else None)
    try:
        server.ready()
        server.post_graphs()
        if restate:
            restate.register()
        postmaster = server.postmaster()
        engine_cpu = load.cpu_seconds(restate.process.pid) if restate else 0
        wal = "select wal_sync, wal_bytes from pg_stat_wal"
        own, beside = load.cpu_seconds(server.pid), load.tree_cpu_seconds(postmaster)
        syncs, written = (int(number) for number in sql(data, wal))
        began = time.monotonic()
        posters = [threading.Thread(target=accept, args=(server.url, case, runs // POSTERS)) for _ in range(POSTERS)]
        for poster in posters:
            poster.start()
        for poster in posters:
            poster.join()
        accepted = time.monotonic() - began
        while sql(data, UNENDED) != ["0"]:
            time.sleep(0.1)
        took = time.monotonic() - began
        own, beside = load.cpu_seconds(server.pid) - own, load.tree_cpu_seconds(postmaster) - beside
        engine_cpu = load.cpu_seconds(restate.process.pid) - engine_cpu if restate else 0
        ended = int(sql(data, "select count(*) from runs where status = 'succeeded'")[0]) - len(load.CASES)
        if ended != runs // POSTERS * POSTERS:
            load.fail("%d of %d runs succeeded" % (ended, runs))
        time.sleep(1.5)  # backends report their statistics after a second
        after = [int(number) for number in sql(data, wal)]
        return {
            "runs/s": ended / took, "accepted/s": ended / accepted,
            "server CPU ms": own * 1e3 / ended, "Postgres CPU ms": beside * 1e3 / ended,
            "Restate CPU ms": engine_cpu * 1e3 / ended,
            "flushes": (after[0] - syncs) / ended, "WAL kB": (after[1] - written) / 1e3 / ended,
        }
    finally:
        load.stop(server.process)
        if restate:
            load.stop(restate.process)
        shutil.rmtree(data, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", action="append", required=True, help="NAME=PATH; several are measured in turn")
    parser.add_argument("--fakelm", required=True, help="the stand-in LM")
    parser.add_argument("--restate", help="the server of Restate: each server is measured with it, too")
    parser.add_argument("--case", choices=load.CASES, default="diamond", help="the graph")
    parser.add_argument("--runs", type=int, default=3200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    servers = [server.split("=", 1) + [None] for server in asked.server]
    if asked.restate:
        servers += [[name + ", Restate", path, asked.restate] for name, path, _ in servers]
    lm, url = load.start_fakelm(asked.fakelm)
    found = {name: [] for name, _, _ in servers}
    try:
        for _ in range(asked.rounds):
            for name, path, engine in servers:
                with tempfile.TemporaryDirectory() as scratch:
                    os.chmod(scratch, 0o755)  # as root, Postgres runs as another user
                    found[name].append(measure(path, asked.case, asked.runs, url, pathlib.Path(scratch), engine))
    finally:
        load.stop(lm)
    columns = list(next(iter(found.values()))[0])
    print("| a run | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name, rounds in found.items():
        cells = ["%.2f" % statistics.median(one[column] for one in rounds) for column in columns]
        print("| %s | %s |" % (name, " | ".join(cells)))


if __name__ == "__main__":
    main()
