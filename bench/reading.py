#!/usr/bin/env python3
"""What reads of runs cost, with one server and with another.

    python3 bench/reading.py --server before=PATH --server after=PATH

Each server gets a Postgres of its own and executes the same inputs on a model that answers in random words
(bench/records.py). Then all servers run, and are read in turn, round by round: a run by its id (of the newest, and of the
oldest), a list, a list of one graph, a list of those that took long, and a search by the beginning of an id. What is printed is CPU time of
the server and its Postgres, in ms a read, the medians of the rounds. Linux only; psql must be there. Read the ratios.
"""

import argparse
import http.client
import json
import os
import pathlib
import shutil
import statistics
import tempfile
import threading

import load
from records import Model, ModelServer, execute_all

NEW = 100


class Filled:
    """A server with runs."""

    def __init__(self, name, binary, model, options, scratch):
        self.name, scratch = name, scratch / name
        scratch.mkdir()
        scratch.chmod(0o755)
        self.server = load.Server(binary, scratch / "data", model, "ack")
        self.server.ready()
        self.server.post_graphs()
        for case in load.CASES:
            execute_all(self.server.url, case, 0, options.runs // len(load.CASES), options.words)
        self.postmaster = self.server.postmaster()
        self.connection = http.client.HTTPConnection(self.server.url[7:], timeout=60)
        self.ids = self.all_ids()

    def get(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            load.fail("%s: %d %s" % (path, answer.status, text[:300]))
        return text

    def all_ids(self):
        ids, path = [], "/v1/runs?limit=100"
        while path:
            page = json.loads(self.get(path))
            ids += [run["id"] for run in page["items"]]
            after = page.get("next_cursor")
            path = after and "/v1/runs?limit=100&cursor=" + after
        return ids

    def paths(self, kind, count):
        ids = {"recent": self.ids[:NEW], "old": self.ids[-NEW:]}.get(kind)
        if ids:
            return ["/v1/runs/" + ids[number % len(ids)] for number in range(count)]
        if kind == "search":
            return ["/search?q=" + self.ids[number % len(self.ids)][:18] for number in range(count)]
        query = {"list": "", "list of a graph": "&graph=bench-chain", "list of slow ones": "&min_duration_ms=1"}[kind]
        return ["/v1/runs?limit=50" + query] * count

    def cpu(self):
        return load.cpu_seconds(self.server.pid), load.tree_cpu_seconds(self.postmaster)

    def measure(self, kind, count):
        paths, before = self.paths(kind, count), self.cpu()
        for path in paths:
            self.get(path)
        return [(after - start) * 1e3 / count for start, after in zip(before, self.cpu())]


KINDS = ("recent", "old", "list", "list of a graph", "list of slow ones", "search")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--server", action="append", required=True, metavar="NAME=PATH")
    options.add_argument("--runs", type=int, default=3000)
    options.add_argument("--words", type=int, default=80, help="the most words of a question")
    options.add_argument("--reads", type=int, default=2000, help="reads of a kind in a round")
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-reading-"))
    scratch.chmod(0o755)
    model = ModelServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    url, filled = "http://127.0.0.1:%d/v1" % model.server_port, []
    try:
        for named in options.server:
            name, path = named.split("=", 1)
            filled.append(Filled(name, os.path.abspath(path), url, options, scratch))
        found = {(kind, one.name): [] for kind in KINDS for one in filled}
        for number in range(options.rounds):
            for kind in KINDS:
                for one in filled if number % 2 == 0 else reversed(filled):
                    found[kind, one.name].append(one.measure(kind, options.reads))
        print("| CPU ms a read: server + Postgres | %s | ratio |" % " | ".join(one.name for one in filled))
        print("|---|%s---|" % ("---|" * len(filled)))
        for kind in KINDS:
            medians = [[statistics.median(part) for part in zip(*found[kind, one.name])] for one in filled]
            cells = ["%.3f + %.3f" % tuple(median) for median in medians]
            print("| %s | %s | %.2f |" % (kind, " | ".join(cells), sum(medians[-1]) / sum(medians[0])))
    finally:
        for one in filled:
            load.stop(one.server.process)
        model.shutdown()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
