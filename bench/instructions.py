#!/usr/bin/env python3
"""The user instructions of one execution, of each model request in it, and where they are.

    python3 bench/instructions.py --server PATH --fakelm PATH                       all three graphs
    python3 bench/instructions.py --server PATH --fakelm PATH --forwarder PATH      the forwarder, too
    python3 bench/instructions.py --server PATH --fakelm PATH --case one --profile FOLDER

callgrind counts, so the figures do not depend on the load of the machine. Only the threads that serve connections count:
upkeep of the database has others. Nothing is counted until the server is warm. Then one client sends --executions requests,
one after the other. --profile keeps the counts by function (callgrind_annotate reads them). Records are off, and the model
answers at once.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from load import CASES, INPUTS, Forwarder, Server, fail, start_fakelm, stop

CALLS = {"one": 1, "chain": 3, "diamond": 4}
WARM = 60
# What only a thread that serves connections has.
SERVES = "hyper::proto::h1"


class Counter:
    """A program under callgrind."""

    def __init__(self, folder, name, program):
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        # A program is started by one path: the server and the forwarder need no arguments of ours.
        self.path = self.folder / "start"
        self.path.write_text(
            "#!/bin/sh\nexec valgrind -q --tool=callgrind --instr-atstart=no --separate-threads=yes --fair-sched=yes"
            " --callgrind-out-file=%s/count %s \"$@\"\n" % (self.folder, program))
        self.path.chmod(0o755)
        self.folder.chmod(0o777)
        self.dumps = 0

    def control(self, pid, *flags):
        subprocess.run(["callgrind_control", *flags, str(pid)], check=True, capture_output=True)

    def counted(self, pid, work):
        """The instructions of `work`, and the files that have them by function."""
        self.control(pid, "-z")
        work()
        self.control(pid, "-d")
        self.dumps += 1
        files = sorted(self.folder.glob("count.%d-*" % self.dumps))
        texts = {file: file.read_text() for file in files}
        serving = {file: text for file, text in texts.items() if SERVES in text}
        return sum(int(re.search(r"^totals: (\d+)", text, re.M).group(1)) for text in serving.values()), list(serving)


def client(address):
    """A function that executes a graph once over one connection."""
    connection = http.client.HTTPConnection(address[7:], timeout=60)
    body = json.dumps({"inputs": INPUTS})

    def execute(case):
        connection.request("POST", "/v1/graphs/bench-%s/execute" % case, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            fail("%s: %d %s" % (case, answer.status, text[:300]))

    return execute


def count(counter, process, options, cases):
    """Instructions of one execution of each case."""
    execute, found = client(process.url), {}
    for case in cases:
        for _ in range(WARM):
            execute(case)
    counter.control(process.pid, "-i", "on")
    for case in cases:
        for _ in range(WARM):
            execute(case)
    for case in cases:
        total, files = counter.counted(process.pid, lambda: [execute(case) for _ in range(options.executions)])
        found[case] = total / options.executions
        for number, file in enumerate(files if options.profile else ()):
            shutil.copy(file, options.profile / ("%s-%s.%d.callgrind" % (counter.folder.name, case, number)))
    return found


def server_counts(options, scratch, lm):
    counter = Counter(scratch, "server", os.path.abspath(options.server))
    server = Server(str(counter.path), scratch / "data", lm, "off")
    try:
        server.ready()
        server.post_graphs()
        return count(counter, server, options, options.case)
    finally:
        stop(server.process)


def forwarder_counts(options, scratch, lm):
    counter = Counter(scratch, "forwarder", os.path.abspath(options.forwarder))
    forwarder = Forwarder(str(counter.path), lm)
    try:
        return count(counter, forwarder, options, options.case)
    finally:
        forwarder.process.kill()
        forwarder.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="a binary, with line tables for --profile")
    parser.add_argument("--fakelm", required=True, help="the stand-in LM, built")
    parser.add_argument("--forwarder", help="bench/forwarder, built")
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable; default all")
    parser.add_argument("--executions", type=int, default=300)
    parser.add_argument("--profile", type=pathlib.Path, help="a folder for the counts by function")
    options = parser.parse_args()
    options.case = options.case or CASES
    if not shutil.which("valgrind"):
        fail("valgrind is missing (Debian/Ubuntu: apt-get install valgrind)")
    if options.profile:
        options.profile.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
    scratch.chmod(0o755)
    fakelm, lm = start_fakelm(options.fakelm)
    try:
        ours = server_counts(options, scratch, lm)
        least = forwarder_counts(options, scratch, lm) if options.forwarder else {}
    finally:
        stop(fakelm)
        shutil.rmtree(scratch, ignore_errors=True)
    print("| graph | instructions of an execution | of each predict | forwarder |\n|---|---|---|---|")
    for case in options.case:
        beside = "%.0f" % least[case] if case in least else "-"
        print("| %s | %.0f | %.0f | %s |" % (case, ours[case], ours[case] / CALLS[case], beside))


if __name__ == "__main__":
    main()
