#!/usr/bin/env python3
"""What a stream of an execution costs beside a direct client of the model: time that is added to a piece and to the first
field, and CPU of the server for a streamed execution against a whole one.

    python3 bench/streams.py --server PATH                       32 streams, a piece every 10 ms
    python3 bench/streams.py --server PATH --with OLD --rounds 5 two servers in alternating rounds

The model and the clients are one program (bench/streams), so that both read the same clock. CPU is counted twice: in
microseconds, and in instructions of the user (perf stat), where that is allowed. `burst` is a model that sends all pieces
at once.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from load import ROOT, INPUTS, Server, call, cargo_build, cpu_seconds, stop

CHAT = {"model": "fake", "stream": True, "messages": [{"role": "user", "content": "x"}]}


class Streams:
    def __init__(self, binary, pieces, pause):
        self.process = subprocess.Popen([binary, str(pieces), str(pause)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.lm = "http://%s/v1" % self.process.stdout.readline().split()[1]

    def run(self, url, body, clients, seconds, kind):
        """(answers, first, piece, whole): medians in microseconds."""
        self.process.stdin.write("%s %s %d %s %s\n" % (url, body, clients, seconds, kind))
        line = self.process.stdout.readline().split()
        if len(line) != 4:
            raise SystemExit("bench: the clients ended")
        return int(line[0]), *(float(word) for word in line[1:])

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Instructions:
    """Of a process and its threads, user mode; None where perf may not count."""

    def __init__(self, pid):
        self.process = subprocess.Popen(["perf", "stat", "-x", ",", "-e", "instructions:u", "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        time.sleep(0.2)

    def count(self):
        self.process.send_signal(2)
        text = self.process.communicate()[1]
        found = [line.split(",")[0] for line in text.splitlines() if "instructions" in line]
        return float(found[0]) if found and found[0].isdigit() else None


def measured(streams, server, body, clients, seconds, kind):
    url = server.url + "/v1/graphs/bench-one/execute"
    cpu, instructions = cpu_seconds(server.pid), Instructions(server.pid) if shutil.which("perf") else None
    answers, first, piece, whole = streams.run(url, body, clients, seconds, kind)
    counted = instructions.count() if instructions else None
    return {"first": first, "piece": piece, "whole": whole, "cpu": (cpu_seconds(server.pid) - cpu) * 1e6 / answers,
            "instructions": counted / answers if counted else float("nan")}


def median(rounds, key):
    return statistics.median(one[key] for one in rounds)


def run(options, scratch):
    binary = options.program or cargo_build(ROOT / "bench/streams/Cargo.toml", "streams", dict(os.environ))
    inputs, chat = scratch / "inputs.json", scratch / "chat.json"
    inputs.write_text(json.dumps({"inputs": INPUTS}))
    chat.write_text(json.dumps(CHAT, separators=(",", ":")))
    binaries = [options.server] + ([options.beside] if options.beside else [])
    print("| model | server | first field, direct / added ms | piece, direct / added ms | CPU µs, whole / streamed | ratio | instructions, whole / streamed | ratio |\n|" + "---|" * 8)
    for name, pause in (("a piece every %g ms" % (options.pause / 1e3), options.pause), ("burst", 0)):
        streams = Streams(binary, options.pieces, pause)
        servers = []
        try:
            for number, one in enumerate(binaries):
                place = scratch / ("%s-%d" % (pause, number))
                place.mkdir()
                place.chmod(0o755)
                servers.append(Server(one, place / "data", streams.lm, options.record))
                servers[-1].ready()
                call("POST", servers[-1].url + "/v1/graphs", json.loads((ROOT / "bench/graphs/one.json").read_text()))
            found = {server: ([], []) for server in servers}
            direct = []
            for _ in range(options.rounds):
                direct.append(dict(zip(("first", "piece"), streams.run(streams.lm + "/chat/completions", chat, options.streams, options.seconds, "stream")[1:3])))
                for server in servers:
                    for kind, into in zip(("whole", "stream"), found[server]):
                        into.append(measured(streams, server, inputs, options.streams, options.seconds, kind))
            for server, one in zip(servers, binaries):
                whole, streamed = found[server]
                cells = []
                for key in ("first", "piece"):
                    least = median(direct, key)
                    cells.append("%.3f / **%.3f**" % (least / 1e3, (median(streamed, key) - least) / 1e3))
                for key in ("cpu", "instructions"):
                    pair = median(whole, key), median(streamed, key)
                    cells.append("%.0f / %.0f" % pair)
                    cells.append("**%.2f**" % (pair[1] / pair[0]))
                print("| %s | %s | %s |" % (name, one, " | ".join(cells)), flush=True)
        finally:
            for server in servers:
                stop(server.process)
            streams.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="a binary")
    parser.add_argument("--with", dest="beside", metavar="BINARY", help="another, in the same rounds")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--pieces", type=int, default=20, help="of an answer")
    parser.add_argument("--pause", type=int, default=10000, help="microseconds between two pieces")
    parser.add_argument("--program", help="bench/streams, built already")
    parser.add_argument("--record", default="ack", choices=("off", "ack", "async"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="of one measurement")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
    scratch.chmod(0o755)
    try:
        run(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
