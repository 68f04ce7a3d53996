#!/usr/bin/env python3
"""The CPU of an execution with one server and with another, in alternating rounds.

    python3 bench/compare.py --server NEW --with OLD             two binaries
    python3 bench/compare.py --server NEW --with NEW --traced    what tracing every run costs

Both servers run beside each other, each with a database of its own and the same stand-in LM (as in load.py). With
--traced, the server of --server sends the spans of every run to a collector that counts their bytes and discards them.
Read the ratios: medians of the rounds, of the CPU of the server process and of its Postgres.
"""

import argparse
import http.server
import os
import pathlib
import shutil
import statistics
import tempfile
import threading

from load import CASES, RECORDS, ROOT, WARM_SECONDS, Server, cargo_build, cpu_seconds, fail, start_fakelm, stop, tree_cpu_seconds, wrk

HEAD = "| runs.record | graph | with, CPU s / 1,000 | server | server : with | Postgres, with | Postgres | Postgres : with |"


class Collector(http.server.ThreadingHTTPServer):
    """Accepts spans over OTLP/HTTP."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.server.received += len(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.received = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def settings(self):
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:%d" % self.server_port, "OTEL_BSP_MAX_QUEUE_SIZE": "200000"}


def measure(server, case, options, scratch):
    """CPU seconds of the server and of its Postgres for 1,000 executions; a forwarder has no Postgres."""
    postmaster = server.postmaster()
    beside = lambda: tree_cpu_seconds(postmaster) if postmaster else 0.0
    own, before = cpu_seconds(server.pid), beside()
    requests = wrk(server.url, case, options.concurrency, options.seconds, scratch)[0]
    return {"cpu": (cpu_seconds(server.pid) - own) * 1000 / requests, "pg": (beside() - before) * 1000 / requests}


def compare(servers, record, case, options, scratch):
    rounds = []
    for server in servers:
        wrk(server.url, case, options.concurrency, WARM_SECONDS, scratch)
    for number in range(options.rounds):
        # Who is first has the colder caches: the order alternates.
        order = servers if number % 2 else servers[::-1]
        found = {server: measure(server, case, options, scratch) for server in order}
        new, old = (found[server] for server in servers)
        rounds.append((old["cpu"], new["cpu"], new["cpu"] / old["cpu"], old["pg"], new["pg"], new["pg"] / max(old["pg"], 1e-9)))
    medians = [statistics.median(column) for column in zip(*rounds)]
    beside = "%.3f | %.3f | %.2f" % tuple(medians[3:]) if record != "off" else "- | - | -"
    return "| %s | %s | %.4f | %.4f | **%.3f** | %s |" % (record, case, *medians[:3], beside)


def run(options, scratch):
    fakelm_folder = pathlib.Path(os.environ.get("FAKELM_DIR", ROOT.parent / "shared/fakelm"))
    fakelm, lm = start_fakelm(cargo_build(fakelm_folder / "Cargo.toml", "fakelm", dict(os.environ)), "--latency-ms", str(options.latency))
    collector = Collector() if options.traced else None
    lines = []
    try:
        for record in options.record:
            servers = []
            try:
                for name, binary in (("new", options.server), ("old", options.beside)):
                    place = scratch / record / name
                    place.mkdir(parents=True)
                    place.parent.chmod(0o755)
                    place.chmod(0o755)
                    extra = collector.settings() if collector and name == "new" else None
                    servers.append(Server(binary, place / "data", lm, record, extra))
                    servers[-1].ready()
                    servers[-1].post_graphs()
                for case in options.case:
                    lines.append(compare(servers, record, case, options, scratch))
                    print(lines[-1], flush=True)
            finally:
                for server in servers:
                    stop(server.process)
    finally:
        stop(fakelm)
    print("\n" + HEAD + "\n|" + "---|" * 8 + "\n" + "\n".join(lines))
    if collector:
        print("\nthe collector has received %.1f MB" % (collector.received / 1e6))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="a binary")
    parser.add_argument("--with", dest="beside", required=True, metavar="BINARY", help="the binary that it is compared with")
    parser.add_argument("--traced", action="store_true", help="the first one sends the spans of every run")
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable; default all")
    parser.add_argument("--record", action="append", choices=("off", "ack", "async"), help="repeatable; default off and ack")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=int, default=1, help="of one measurement; short rounds cancel the noise of a shared machine best")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--latency", type=int, default=0, help="milliseconds until the fake LM answers")
    options = parser.parse_args()
    options.case, options.record = options.case or CASES, options.record or RECORDS
    if not shutil.which("wrk"):
        fail("wrk is missing (Debian/Ubuntu: apt-get install wrk)")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
    scratch.chmod(0o755)
    try:
        run(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
