#!/usr/bin/env python3
"""Load on the whole server: HTTP in, Postgres beside, an LM that answers at once.

    python3 bench/load.py                          everything, a Markdown table at the end
    python3 bench/load.py --case one --record off  one cell of it
    python3 bench/load.py --seconds 30 --concurrency 64
    python3 bench/load.py --forwarder --rounds 3   beside a server that only asks and answers (bench/forwarder)

It builds the server and the stand-in LM (FAKELM_DIR, default ../shared/fakelm) optimised, starts both, posts
bench/graphs/*.json, drives them with wrk and reads CPU time and memory out of /proc. Linux only; wrk is an apt
package. The server gets a data directory of its own, which is removed at the end. Numbers are only worth
something on a machine that does nothing else.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ("one", "chain", "diamond")
RECORDS = ("off", "ack")
INPUTS = {"question": "Which tea is best in the morning?"}
TICK = os.sysconf("SC_CLK_TCK")
WARM_SECONDS = 3
READY_SECONDS = 240
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fail(message):
    sys.exit("bench: " + message)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(method, url, body=None, seconds=30):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with DIRECT.open(request, timeout=seconds) as answer:
        return json.load(answer)


# Processes: CPU seconds and memory as the kernel counts them.


def stat_fields(pid):
    """The fields of /proc/PID/stat after the command name, which may itself hold blanks."""
    return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()


def cpu_seconds(pid, with_dead_children=False):
    """User and system time; a server's own excludes its children, Postgres's own includes them."""
    fields = stat_fields(pid)
    return sum(int(ticks) for ticks in fields[11 : 15 if with_dead_children else 13]) / TICK


def children(pid):
    found = []
    for task in pathlib.Path("/proc/%d/task" % pid).glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


def tree_cpu_seconds(pid):
    """A postmaster with its backends, the ended ones too."""
    total = cpu_seconds(pid, with_dead_children=True)
    for child in children(pid):
        try:
            total += cpu_seconds(child)
        except OSError:
            pass
    return total


def memory_mb(pid, field):
    text = pathlib.Path("/proc/%d/status" % pid).read_text()
    return int(re.search(r"^%s:\s+(\d+) kB" % field, text, re.M).group(1)) / 1024


def forget_peak(pid):
    """Makes VmHWM start again from what is resident now; where that is refused the peak is the process's."""
    try:
        pathlib.Path("/proc/%d/clear_refs" % pid).write_text("5")
    except OSError:
        pass


def wait_for(attempt, seconds):
    """Tries until it succeeds; the last failure if it never does."""
    until = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


# What is started.


def stop(process, seconds=40):
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def start_fakelm(binary, *flags):
    process = subprocess.Popen([binary, "--port", "0", *flags], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if "listening" not in line:
        fail("the stand-in LM did not start")
    return process, "http://%s/v1" % line.split()[1]


class Server:
    """One run of the server on `data`, with its Postgres."""

    def __init__(self, binary, data, lm, record, extra=None):
        self.data, self.log = data, data.parent / "server.log"
        self.url = "http://127.0.0.1:%d" % free_port()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("DSRS_", "OPENAI_", "DATABASE_"))}
        environment.update(
            DSRS_BIND=self.url[7:], DSRS_DATA_DIR=str(data), DSRS_RUNS_RECORD=record,
            OPENAI_BASE_URL=lm, OPENAI_API_KEY="none", DSRS_MODEL="fake", RUST_LOG="warn", **(extra or {}))
        self.began = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([binary, "serve"], env=environment, stdout=log, stderr=log)
        self.pid = self.process.pid

    def until(self, attempt):
        """Tries until it succeeds; the seconds since the process was started."""
        while time.monotonic() - self.began < READY_SECONDS:
            if self.process.poll() is not None:
                fail("the server ended:\n" + self.log.read_text()[-2000:])
            try:
                attempt()
                return time.monotonic() - self.began
            except (urllib.error.URLError, OSError):
                time.sleep(0.002)
        fail("the server did not answer within %d s:\n%s" % (READY_SECONDS, self.log.read_text()[-2000:]))

    def ready(self):
        return self.until(lambda: call("GET", self.url + "/readyz"))

    def execute(self, case):
        return call("POST", "%s/v1/graphs/bench-%s/execute" % (self.url, case), {"inputs": INPUTS})

    def postmaster(self):
        for file in self.data.rglob("postmaster.pid"):
            return int(file.read_text().split()[0])
        return None

    def post_graphs(self, cases=CASES):
        for case in cases:
            graph = json.loads((ROOT / "bench/graphs" / (case + ".json")).read_text())
            try:
                call("POST", self.url + "/v1/graphs", graph)
            except urllib.error.HTTPError as error:
                if error.code != 409:
                    fail("%s: %s" % (case, error.read().decode()))
            if self.execute(case)["status"] != "succeeded":
                fail("%s does not succeed on the stand-in LM" % case)


class Forwarder:
    """A server that only parses, makes the requests to the model, and answers the last text."""

    def __init__(self, binary, lm):
        self.process = subprocess.Popen([binary, lm], stdout=subprocess.PIPE, text=True)
        self.url, self.pid = "http://" + self.process.stdout.readline().split()[1], self.process.pid

    def postmaster(self):
        return None


# Driving and reading.


def wrk(url, case, concurrency, seconds, scratch):
    """(requests, requests/s, p50 ms, p99 ms) of wrk; anything but 2xx is a failure of the bench."""
    script = scratch / "post.lua"
    script.write_text(
        "wrk.method = 'POST'\nwrk.body = [==[%s]==]\nwrk.headers['Content-Type'] = 'application/json'\n"
        "done = function(s, l, r)\n"
        "  io.write(string.format('RESULT %%d %%d %%d %%d %%d %%d\\n', s.requests, s.duration, l:percentile(50), l:percentile(99),"
        " s.errors.status, s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout))\nend\n" % json.dumps({"inputs": INPUTS}))
    command = ["wrk", "-t1", "-c%d" % concurrency, "-d%ds" % seconds, "--timeout", "30s", "-s", str(script),
               "%s/v1/graphs/bench-%s/execute" % (url, case)]
    ended = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^RESULT (.*)$", ended.stdout, re.M)
    if ended.returncode or not found:
        fail("wrk: " + ended.stdout + ended.stderr)
    requests, micros, p50, p99, refused, broken = (int(n) for n in found.group(1).split())
    if refused or broken or not requests:
        fail("%s: of %d answers %d were not a success and %d did not arrive" % (case, requests, refused, broken))
    return requests, requests / (micros / 1e6), p50 / 1e3, p99 / 1e3


def measure(server, case, concurrency, seconds, scratch):
    wrk(server.url, case, concurrency, WARM_SECONDS, scratch)
    postmaster = server.postmaster()
    forget_peak(server.pid)
    own, beside = cpu_seconds(server.pid), tree_cpu_seconds(postmaster) if postmaster else 0.0
    requests, rate, p50, p99 = wrk(server.url, case, concurrency, seconds, scratch)
    own = cpu_seconds(server.pid) - own
    beside = (tree_cpu_seconds(postmaster) if postmaster else 0.0) - beside
    thousands = requests / 1000
    return {"rate": rate, "cpu": own / thousands, "pg": beside / thousands, "p50": p50, "p99": p99,
            "rss": memory_mb(server.pid, "VmHWM")}


def start_seconds(binary, data, lm):
    """Seconds from starting the process until it is ready; makes and migrates a Postgres unless the directory has one."""
    server = Server(binary, data, lm, "ack")
    try:
        return server.ready()
    finally:
        stop(server.process)


def cold_start(binary, data, lm, rounds):
    """Seconds from starting the process to the first answer of a graph, on a data directory that exists."""
    taken = []
    for _ in range(rounds):
        server = Server(binary, data, lm, "ack")
        taken.append(server.until(lambda: server.execute("one")))
        stop(server.process)
    return sorted(taken)


def cargo_build(manifest, name, environment):
    """Builds a program beside the workspace; its folder may be read-only, so it goes under our target directory."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / name
    subprocess.run(["cargo", "build", "--release", "--manifest-path", str(manifest), "--target-dir", str(target)],
                   check=True, env=environment)
    return str(target / "release" / name)


def build(options):
    fakelm = pathlib.Path(os.environ.get("FAKELM_DIR", ROOT.parent / "shared/fakelm"))
    if not (fakelm / "Cargo.toml").exists():
        fail("no stand-in LM in %s: FAKELM_DIR names its folder" % fakelm)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    environment = dict(os.environ, SQLX_OFFLINE="true")
    fakelm = cargo_build(fakelm / "Cargo.toml", "fakelm", environment)
    forwarder = cargo_build(ROOT / "bench/forwarder/Cargo.toml", "forwarder", environment) if options.forwarder else None
    if not options.server:
        subprocess.run(["cargo", "build", "--release", "--locked", "--bin", "dsrs-server"], cwd=ROOT, check=True, env=environment)
    return str(options.server or target / "release/dsrs-server"), fakelm, forwarder


COMPARED = "| runs.record | graph | forwarder CPU s / 1,000 | server | Postgres | server : forwarder | server and Postgres : forwarder |"


def compare(options, server, forwarder, record, case, scratch):
    """Both in alternating rounds; medians."""
    rounds = []
    for _ in range(options.rounds):
        least = measure(forwarder, case, options.concurrency, options.seconds, scratch)["cpu"]
        found = measure(server, case, options.concurrency, options.seconds, scratch)
        rounds.append((least, found["cpu"], found["pg"], found["cpu"] / least, (found["cpu"] + found["pg"]) / least))
    return "| %s | %s | %.3f | %.3f | %.3f | %.2f | %.2f |" % (
        record, case, *(statistics.median(column) for column in zip(*rounds)))


HEAD = "| runs.record | graph | concurrency | executions/s | server CPU s / 1,000 | Postgres CPU s / 1,000 | p50 ms | p99 ms | peak RSS MB |"


def row(record, case, concurrency, m):
    return "| %s | %s | %d | %.0f | %.3f | %.3f | %.1f | %.1f | %.0f |" % (
        record, case, concurrency, m["rate"], m["cpu"], m["pg"], m["p50"], m["p99"], m["rss"])


def run(options, scratch):
    server_binary, fakelm_binary, forwarder_binary = build(options)
    fakelm, lm = start_fakelm(fakelm_binary, "--latency-ms", str(options.latency))
    data, server, lines = scratch / "data", None, []
    forwarder = Forwarder(forwarder_binary, lm) if forwarder_binary else None
    try:
        for record in options.record:
            server = Server(server_binary, data, lm, record)
            server.ready()
            server.post_graphs()
            for case in options.case if forwarder else ():
                lines.append(compare(options, server, forwarder, record, case, scratch))
                print(lines[-1], flush=True)
            for case in () if forwarder else options.case:
                lines.append(row(record, case, options.concurrency, measure(server, case, options.concurrency, options.seconds, scratch)))
                print(lines[-1], flush=True)
            if options.wide and not forwarder:
                lines.append(row(record, "one", options.wide, measure(server, "one", options.wide, options.seconds, scratch)))
                print(lines[-1], flush=True)
            stop(server.process)
        starts = cold_start(server_binary, data, lm, options.starts) if options.starts and not forwarder else []
    finally:
        if server:
            stop(server.process)
        stop(fakelm)
        if forwarder:
            stop(forwarder.process)
    head = COMPARED if forwarder else HEAD
    print("\n" + head + "\n" + re.sub(r"[^|]+", "---", head) + "\n" + "\n".join(lines))
    if starts:
        print("\ncold start to first answer, its Postgres's start included: median %.2f s, fastest %.2f s of %d" % (
            starts[len(starts) // 2], starts[0], len(starts)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable; default all")
    parser.add_argument("--record", action="append", choices=("off", "ack", "async"), help="repeatable; default off and ack")
    parser.add_argument("--seconds", type=int, default=12, help="of one measurement, after %d s of warming up" % WARM_SECONDS)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--wide", type=int, default=256, help="one more row at this concurrency, for memory; 0: none")
    parser.add_argument("--starts", type=int, default=5, help="cold starts to time; 0: none")
    parser.add_argument("--latency", type=int, default=0, help="milliseconds until the fake LM answers")
    parser.add_argument("--forwarder", action="store_true", help="compare with a server that only asks and answers")
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison with the forwarder")
    parser.add_argument("--server", help="a binary to measure instead of building one")
    options = parser.parse_args()
    options.case, options.record = options.case or CASES, options.record or RECORDS
    if not sys.platform.startswith("linux"):
        fail("CPU and memory are read from /proc: Linux only")
    if not shutil.which("wrk"):
        fail("wrk is missing (Debian/Ubuntu: apt-get install wrk)")
    # Not inside the clone: the private Postgres may run as another user, who must be able to reach it.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
    scratch.chmod(0o755)
    try:
        run(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
