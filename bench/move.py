#!/usr/bin/env python3
"""The move of runs with JSON to the compact form, while executions go through the same server.

    python3 bench/move.py --server PATH --runs 10000000

Fills a database as the release before would have: executes `--models` runs with questions and answers that differ, stores
each many times under new ids and with other times over `--days`, then says `migrate --compact-runs` and waits until the
server has moved the last run. Clients execute `--rate` runs a second all the time. It prints how fast runs are moved, what
that costs, and what executions took before and during the move; then it compares `--compared` of them, read before and
after. Any failed execution or any difference ends it with an error. Nothing else should run on the machine.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import load
import records
from background import ROLE, sql

# Several rows of one insert are one transaction of Postgres: what it holds back is bounded.
ROWS = 100_000

COPY = """set dsrs.workspace = '*'; set dsrs.counts_usage = 'on'; set synchronous_commit = off;
insert into runs ({columns})
select {values} from (
    select n, now() - interval '1 hour' - n * interval '{days} days' / {runs} as at from generate_series({first}, {last}) n
) as made join model on model.number = made.n % {models}"""
MODEL = """set dsrs.workspace = '*';
create unlogged table model as select row_number() over (order by id) - 1 as number, * from runs"""
IS_COPY = """create or replace function is_copy(id uuid) returns boolean immutable language sql as
    $$ select substr(id::text, 15, 1) = 'c' $$"""
# The form of an id with its time is that of the server (UUID version 7); version 'c' marks a copy.
NEW = {
    "id": "(left(first_uuid(at)::text, 14) || 'c' || substr(md5(n::text), 1, 3) || '-8' || substr(md5(n::text), 4, 3) || '-'"
          " || substr(md5(n::text), 7, 12))::uuid",
    "created_at": "at", "started_at": "at", "finished_at": "at + interval '900 ms'",
}
LEFT = "set dsrs.workspace = '*'; select id from runs where body is null and finished_at is not null and is_copy(id) order by id desc limit 1"
SIZES = """select sum(pg_table_size(relid)), sum(pg_indexes_size(relid)) from pg_partition_tree('runs') where isleaf"""


class Traffic(threading.Thread):
    """Executes at a rate; notes how long each took."""

    def __init__(self, url, rate):
        super().__init__(daemon=True)
        self.url, self.rate, self.taken, self.ended = url, rate, [], threading.Event()

    def run(self):
        connection, source, number = http.client.HTTPConnection(self.url[7:], timeout=60), random.Random(1), 0
        begin = time.monotonic()
        while not self.ended.wait(max(0.0, begin + number / self.rate - time.monotonic())):
            number += 1
            body = json.dumps({"inputs": {"question": records.words(source, 20)}})
            at = time.monotonic()
            connection.request("POST", "/v1/graphs/bench-one/execute", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            self.taken.append(time.monotonic() - at)
            if answer.status != 200 or json.loads(text)["status"] != "succeeded":
                os.write(2, b"bench: an execution failed: " + text[:500] + b"\n")
                os._exit(1)

    def take(self):
        taken, self.taken = sorted(self.taken), []
        return "%d executions, p50 %.1f ms, p99 %.1f ms, longest %.0f ms" % (
            len(taken), statistics.median(taken) * 1e3, taken[len(taken) * 99 // 100] * 1e3, taken[-1] * 1e3)


def fill(data, options):
    sql(data, IS_COPY)
    sql(data, "set dsrs.workspace = '*'; delete from runs where id in (select id from runs order by id limit 3)")
    sql(data, MODEL)
    columns = sql(data, "select attname from pg_attribute where attrelid = 'runs'::regclass and attnum > 0 and not attisdropped")
    values = ", ".join(NEW.get(column, "model." + column) for column in columns)
    for first in range(0, options.runs, ROWS):
        sql(data, COPY.format(columns=", ".join(columns), values=values, days=options.days, runs=options.runs, first=first,
                              last=min(first + ROWS, options.runs) - 1, models=options.models))
        if first % (10 * ROWS) == 0:
            print("filled %d" % first, flush=True)
    sql(data, "vacuum (analyze) runs")


def read(server, ids):
    return [load.call("GET", "%s/v1/runs/%s" % (server.url, run)) for run in ids]


def is_moved(data):
    return sql(data, LEFT) in ([], [""])


def usage(server):
    return load.cpu_seconds(server.pid), load.tree_cpu_seconds(server.postmaster())


def move(binary, server, data, options):
    lines = next(data.rglob("postmaster.pid")).read_text().split("\n")
    url = "postgres://%s@localhost:%s/%s?host=%s" % (ROLE, lines[3].strip(), ROLE, lines[4].strip())
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url}
    traffic = Traffic(server.url, options.rate)
    traffic.start()
    before, at = usage(server), time.monotonic()
    time.sleep(options.quiet)
    rest = [(now - then) / (time.monotonic() - at) for then, now in zip(before, usage(server))]
    print("before: " + traffic.take(), flush=True)
    load.forget_peak(server.pid)
    said = subprocess.run([binary, "migrate", "--compact-runs"], env=environment, capture_output=True, text=True)
    if said.returncode:
        traffic.ended.set()
        load.fail(said.stderr)
    before, at = usage(server), time.monotonic()
    while not is_moved(data):
        time.sleep(20)
        print("%.0f s: %s; newest run to move: %s; CPU of server and Postgres %s" % (
            time.monotonic() - at, traffic.take(), sql(data, LEFT), usage(server)), flush=True)
    seconds = time.monotonic() - at
    spent = [now - then - idle * seconds for then, now, idle in zip(before, usage(server), rest)]
    print("moved %d runs in %.0f s, %.0f a second; CPU of a run: server %.0f us, Postgres %.0f us; peak of the server %.0f MB" % (
        options.runs, seconds, options.runs / seconds, *(1e6 * cpu / options.runs for cpu in spent), load.memory_mb(server.pid, "VmHWM")))
    traffic.ended.set()


def measure(options, scratch):
    binary, data = os.path.abspath(options.server), scratch / "data"
    model = records.ModelServer(("127.0.0.1", 0), records.Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    lm = "http://127.0.0.1:%d/v1" % model.server_port
    server = load.Server(binary, data, lm, "ack")
    try:
        server.ready()
        sql(data, "update installation set compact_runs = false")
        load.stop(server.process)
        server = load.Server(binary, data, lm, "ack")
        server.ready()
        server.post_graphs()
        records.execute_all(server.url, "one", 0, options.models, options.words)
        fill(data, options)
        print("bytes of the table and of its indexes for a run: %s" % [int(size) // options.runs for size in sql(data, SIZES)])
        ids = sql(data, "set dsrs.workspace = '*'; select id from runs where is_copy(id) limit %d" % options.compared)
        ids += sql(data, "set dsrs.workspace = '*'; select id from runs where is_copy(id) order by id desc limit %d" % options.compared)
        stored = read(server, ids)
        move(binary, server, data, options)
        for then, now in zip(stored, read(server, ids)):
            if then != now:
                load.fail("a run has changed:\n%s\n%s" % (json.dumps(then), json.dumps(now)))
        print("%d runs read before and after are equal" % len(ids))
        sql(data, "vacuum (analyze) runs")
        print("bytes of the table and of its indexes for a run, space for newer runs included: %s" % [
            int(size) // options.runs for size in sql(data, SIZES)])
        print("live bytes of a body: %s" % sql(data, "set dsrs.workspace = '*'; select avg(pg_column_size(r.*))::int from (select * from runs where body is not null limit 10000) r"))
    finally:
        load.stop(server.process)
        model.shutdown()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--server", required=True)
    options.add_argument("--runs", type=int, default=10_000_000)
    options.add_argument("--days", type=int, default=20)
    options.add_argument("--models", type=int, default=400, help="runs with texts of their own, which are repeated")
    options.add_argument("--words", type=int, default=80, help="the most words of a question")
    options.add_argument("--rate", type=float, default=50, help="executions a second meanwhile")
    options.add_argument("--quiet", type=float, default=30, help="seconds of executions before the move")
    options.add_argument("--compared", type=int, default=200)
    options = options.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-move-"))
    scratch.chmod(0o755)
    try:
        measure(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
