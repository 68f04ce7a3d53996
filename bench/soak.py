#!/usr/bin/env python3
"""Background runs at a constant rate for long, on three servers of which one is killed every minute.

    scripts/with-postgres.sh python3 bench/soak.py --server PATH --fakelm PATH --minutes 60 --rate 100

Servers are killed in turn with SIGKILL and started again, but not the first one: its memory shows whether it grows. Every
run that was accepted must have ended with success, once. Memory, sizes of tables and rows are sampled; at the end the
tables are compared with the model of scripts/scaling, and the exit code says whether everything is as expected. Without
--fakelm, scripts/stand_in_lm.py answers, which is enough for some tens of runs a second. Linux only; psql must be there,
and Postgres must be reached by DATABASE_URL.
"""

import argparse
import http.client
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import load

sys.path.insert(0, str(load.ROOT / "scripts/scaling"))
import plan  # noqa: E402

GRAPH = "/v1/graphs/bench-diamond/runs"
NODES = 4
SERVERS = 3
POSTERS = 16
DRAIN_SECONDS = 120
# Autovacuum looks once a minute: what is shorter says nothing about growth.
SHORTEST_MINUTES = 10
# What is removed when a run ends, and so does not grow with the runs; events are removed after an hour.
IN_PROGRESS = ("jobs", "run_nodes")
TABLES = ("runs", "run_events") + IN_PROGRESS
SIZES = "select " + ", ".join(
    "(select coalesce(sum(pg_total_relation_size(relid)), pg_total_relation_size('%s')) from pg_partition_tree('%s'))"
    % (table, table) for table in TABLES)
TEXT = """select avg(octet_length(trace::text) + octet_length(inputs::text) + octet_length(outputs::text))
          from (select * from runs where status = 'succeeded' order by id desc limit 1000) newest"""


def sql(url, text):
    """The fields of the first row."""
    command = ["psql", "-qXAtF", " ", "-d", url, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


class Servers:
    """Three servers on one database."""

    def __init__(self, binary, database, lm, scratch):
        self.binary, self.lm, self.scratch = binary, lm, scratch
        self.extra = {"DATABASE_URL": database, "DSRS_DATABASE_MAX_CONNECTIONS": "12"}
        self.all = []
        for number in range(SERVERS):
            self.all.append(self.start(number))
        self.all[0].post_graphs()
        self.kills = 0

    def start(self, number):
        place = self.scratch / ("server-%d" % number)
        place.mkdir(exist_ok=True)
        server = load.Server(self.binary, place / "data", self.lm, "ack", self.extra)
        server.ready()
        return server

    def kill_one(self):
        number = 1 + self.kills % (SERVERS - 1)
        self.kills += 1
        self.all[number].process.kill()
        self.all[number].process.wait()
        self.all[number] = self.start(number)

    def memory(self):
        return [load.memory_mb(server.pid, "VmRSS") if server.process.poll() is None else 0.0 for server in self.all]

    def stop(self):
        for server in self.all:
            load.stop(server.process)


class Load:
    """Posts runs, so many a second, to any server; a server that does not answer is passed over."""

    def __init__(self, servers, rate, seconds):
        self.servers, self.rate, self.count = servers, rate, int(rate * seconds)
        self.lock, self.next = threading.Lock(), 0
        self.accepted, self.lost, self.late, self.refused = [], 0, 0.0, None
        self.began = time.monotonic()
        self.posters = [threading.Thread(target=self.post_all, daemon=True) for _ in range(POSTERS)]
        for poster in self.posters:
            poster.start()

    def take(self):
        with self.lock:
            number, self.next = self.next, self.next + 1
        return number if number < self.count else None

    def post_all(self):
        connections = {}
        while (number := self.take()) is not None:
            due = self.began + number / self.rate
            time.sleep(max(0.0, due - time.monotonic()))
            run = self.post(connections, number)
            with self.lock:
                self.accepted.append(run)
                self.late = max(self.late, time.monotonic() - due)

    def post(self, connections, number):
        body = json.dumps({"inputs": {"question": "%s (%d)" % (load.INPUTS["question"], number)}})
        for attempt in range(10_000):
            url = self.servers.all[(number + attempt) % SERVERS].url
            try:
                connection = connections.setdefault(url, http.client.HTTPConnection(url[7:], timeout=30))
                connection.request("POST", GRAPH, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status == 202:
                    return json.loads(text)["id"]
                if answer.status not in (429, 503):
                    self.refused = "%d %s" % (answer.status, text[:300])
                    return None
            except (OSError, http.client.HTTPException):
                # It may have been accepted: then there is a run more than answers.
                connections.pop(url, None)
                with self.lock:
                    self.lost += 1
            time.sleep(0.05)
        return None


def sample(servers, database, began, accepted):
    sizes = [int(size) for size in sql(database, SIZES)]
    jobs = int(sql(database, "select count(*) from jobs")[0])
    return {"minute": (time.monotonic() - began) / 60, "accepted": accepted, "jobs": jobs,
            "memory": servers.memory(), "sizes": dict(zip(TABLES, sizes))}


def show(one):
    megabytes = ["%.1f" % (one["sizes"][table] / 1e6) for table in TABLES]
    memory = ["%.0f" % size for size in one["memory"]]
    print("| %.1f | %d | %d | %s |" % (one["minute"], one["accepted"], one["jobs"], " | ".join(memory + megabytes)), flush=True)


def soak(given, servers, database):
    """All samples, with the load that was posted."""
    print("| minute | accepted | jobs | " + " | ".join(["server %d MB" % (n + 1) for n in range(SERVERS)] + [t + " MB" for t in TABLES]) + " |")
    print("|" + "---|" * (3 + SERVERS + len(TABLES)))
    posted = Load(servers, given.rate, given.minutes * 60)
    samples, kill_at, sample_at = [], given.kill_every, 0.0
    while any(poster.is_alive() for poster in posted.posters):
        now = time.monotonic() - posted.began
        if now >= sample_at:
            samples.append(sample(servers, database, posted.began, len(posted.accepted)))
            show(samples[-1])
            sample_at += given.sample_every
        if now >= kill_at:
            servers.kill_one()
            kill_at += given.kill_every
        time.sleep(0.2)
    deadline = time.monotonic() + DRAIN_SECONDS
    while int(sql(database, "select count(*) from jobs")[0]) and time.monotonic() < deadline:
        time.sleep(0.2)
    samples.append(sample(servers, database, posted.began, len(posted.accepted)))
    show(samples[-1])
    return samples, posted


def is_flat(values, slack):
    """Whether the last quarter is as high as the second one. The first one is the beginning."""
    quarter = max(1, len(values) // 4)
    return statistics.median(values[-quarter:]) <= 1.15 * statistics.median(values[quarter:2 * quarter]) + slack


def growth(samples):
    """What grows and should not."""
    found = []
    memory = [one["memory"][0] for one in samples]
    if not is_flat(memory, 10):
        found.append("the memory of the first server grows: %s MB" % ", ".join("%.0f" % size for size in memory))
    for table in IN_PROGRESS:
        sizes = [one["sizes"][table] / 1e6 for one in samples]
        if not is_flat(sizes, 4):
            found.append("%s grows: %s MB" % (table, ", ".join("%.1f" % size for size in sizes)))
    return found


def problems(samples, posted, database, before):
    """What is not as expected, a sentence each."""
    found = ["a run was refused: " + posted.refused] if posted.refused else []
    rows, ended = (int(number) for number in sql(database, """
        select count(*), count(*) filter (where status = 'succeeded') from runs"""))
    ids = set(filter(None, posted.accepted))
    stored = set(sql(database, "select id from runs where status = 'succeeded'"))
    if missing := ids - stored:
        found.append("%d accepted runs have not succeeded, such as %s" % (len(missing), min(missing)))
    if rows != ended:
        found.append("%d of %d runs have not succeeded" % (rows - ended, rows))
    if not len(ids) <= rows - before <= len(ids) + posted.lost:
        found.append("%d runs were accepted and %d answers lost, but there are %d" % (len(ids), posted.lost, rows - before))
    if samples[-1]["jobs"]:
        found.append("%d jobs are left" % samples[-1]["jobs"])
    if samples[-1]["minute"] < SHORTEST_MINUTES:
        print("\nwhether memory and tables grow is not judged in less than %d minutes" % SHORTEST_MINUTES)
    else:
        found += growth(samples)
    text_kb = float(sql(database, TEXT)[0]) / 1000
    model_kb = plan.costs("background", "postgres", NODES, text_kb, plan.coefficients())["disk_kb"]
    # What the table has without rows is not the runs'.
    real_kb = (samples[-1]["sizes"]["runs"] - samples[0]["sizes"]["runs"]) / 1000 / max(1, rows - before)
    events_kb = samples[-1]["sizes"]["run_events"] / 1000 / max(1, rows)
    print("\n%d runs, %d answers lost, at most %.1f s late; a run has %.1f kB of text and takes %.2f kB in `runs`, the model says "
          "%.2f kB; its events take %.2f kB more for an hour" % (rows, posted.lost, posted.late, text_kb, real_kb, model_kb, events_kb))
    if not 0.5 <= real_kb / model_kb <= 1.5:
        found.append("a run takes %.2f kB, the model says %.2f kB" % (real_kb, model_kb))
    return found


def start_model(fakelm):
    if fakelm:
        return load.start_fakelm(fakelm)
    process = subprocess.Popen([sys.executable, str(load.ROOT / "scripts/stand_in_lm.py")], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--fakelm", help="the stand-in LM; scripts/stand_in_lm.py if not given")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=100, help="runs a second")
    parser.add_argument("--kill-every", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--sample-every", type=float, default=60, metavar="SECONDS")
    given = parser.parse_args()
    database = os.environ.get("DATABASE_URL") or load.fail("DATABASE_URL is not set")
    model, lm = start_model(given.fakelm)
    scratch, servers = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-")), None
    try:
        servers = Servers(os.path.abspath(given.server), database, lm, scratch)
        before = int(sql(database, "select count(*) from runs")[0])
        samples, posted = soak(given, servers, database)
        found = problems(samples, posted, database, before)
    finally:
        if servers:
            servers.stop()
        load.stop(model)
        shutil.rmtree(scratch, ignore_errors=True)
    for problem in found:
        print("soak: " + problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
