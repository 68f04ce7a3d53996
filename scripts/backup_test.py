#!/usr/bin/env python3
"""Backs a live server up and restores it, as docs/operations/backup.md says, and compares what the two servers answer.

    scripts/backup-test.sh

First a Postgres of the operator, by `pg_dump` while runs are executed and `pg_restore` into a new database; the role of the
server is no superuser. Then the private Postgres, by a copy of the data directory of a stopped server.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEY = "key-of-the-backup-test"
START_SECONDS = 90
GRAPH = {"name": "trip", "nodes": {
    "place": {"strategy": "predict", "signature": "country -> capital"},
    "advice": {"strategy": "chain_of_thought", "signature": "capital -> sentence"}},
    "edges": [{"from": "place.capital", "to": "advice.capital"}]}


class Server:
    """A server process with its address."""

    def __init__(self, scratch, settings):
        self.log = tempfile.NamedTemporaryFile("w+", dir=scratch, suffix=".log", delete=False)
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "DSRS_BIND": "127.0.0.1:0", "DSRS_LOG": "warn",
                       "DSRS_API_KEYS": KEY, **settings}
        if "PG_BIN" in os.environ:
            environment["PG_BIN"] = os.environ["PG_BIN"]
        self.process = subprocess.Popen([os.environ["DSRS_BINARY"], "serve"], env=environment, cwd=scratch,
                                        stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.url = self.wait_for_address()

    def wait_for_address(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            for line in pathlib.Path(self.log.name).read_text().splitlines():
                if line.split()[:1] == ["address"]:
                    return line.split()[1]
            time.sleep(0.1)
        raise SystemExit("the server did not start:\n" + pathlib.Path(self.log.name).read_text())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def call(self, method, path, body=None, key=KEY):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", "Bearer " + key)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def items(self, path):
        found, cursor = [], None
        while True:
            page = self.call("GET", path + ("?limit=200" if cursor is None else "?limit=200&cursor=" + urllib.parse.quote(cursor)))
            found += page["items"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return found


@contextlib.contextmanager
def running(scratch, settings):
    server = Server(scratch, settings)
    try:
        yield server
    finally:
        server.stop()


def fill(server):
    """Everything that a backup must contain: two versions, three states, an older one active, runs, data, scores, a key."""
    server.call("POST", "/v1/graphs", GRAPH)
    for instruction in ("Name the capital.", "Name the capital in English."):
        server.call("PATCH", "/v1/graphs/trip/predictors/place", {"instruction": instruction})
    server.call("POST", "/v1/graphs/trip/state/versions/2/activate")
    server.call("PUT", "/v1/graphs/trip", dict(GRAPH, description="the second version"))
    for country in ("France", "Peru", "Japan"):
        server.call("POST", "/v1/graphs/trip/execute", {"inputs": {"country": country}})
    examples = [{"inputs": {"country": name}, "expected": {"sentence": "calm"}} for name in ("France", "Peru")]
    server.call("POST", "/v1/datasets", {"name": "countries", "examples": examples})
    evaluation = server.call("POST", "/v1/graphs/trip/evaluations", {"dataset": "countries", "metric": "exact"})["id"]
    while server.call("GET", "/v1/evaluations/" + evaluation)["status"] in ("queued", "running"):
        time.sleep(0.1)
    server.call("POST", "/v1/workspaces", {"name": "team"})
    key = server.call("POST", "/v1/keys", {"name": "app", "scopes": ["read", "execute", "write"], "workspace": "team"})["key"]
    server.call("POST", "/v1/graphs", dict(GRAPH, name="of-the-team"), key)
    return key


def contents(server, key):
    """What a server answers about everything that is stored."""
    found = {}
    for graph in server.items("/v1/graphs"):
        path = "/v1/graphs/" + graph["name"]
        for part in ("", "/versions", "/state", "/state/versions", "/state/activations"):
            found[path + part] = server.call("GET", path + part)
    for dataset in server.items("/v1/datasets"):
        path = "/v1/datasets/" + dataset["name"]
        found[path], found[path + "/examples"] = server.call("GET", path), server.items(path + "/examples")
    for evaluation in server.items("/v1/evaluations"):
        path = "/v1/evaluations/" + evaluation["id"]
        found[path], found[path + "/results"] = server.call("GET", path), server.items(path + "/results")
    for run in server.items("/v1/runs"):
        found["/v1/runs/" + run["id"]] = server.call("GET", "/v1/runs/" + run["id"])
    found["the graph of another workspace"] = server.call("GET", "/v1/graphs/of-the-team", key=key)
    return found


def compare(before, restored, what):
    differ = [path for path in before if restored.get(path) != before[path]]
    if differ:
        raise SystemExit("%s: differs after the restore: %s" % (what, ", ".join(differ)))
    runs = sum(path.startswith("/v1/runs/") for path in before)
    print("%s: %d documents are equal, %d of them runs" % (what, len(before), runs))


def still_works(server):
    """The restored server accepts work, and older versions are still there."""
    server.call("POST", "/v1/graphs/trip/state/versions/3/activate")
    run = server.call("POST", "/v1/graphs/trip/execute", {"version": 1, "inputs": {"country": "Spain"}})
    if run["status"] != "succeeded" or run["state_version"] != 3:
        raise SystemExit("the restored server does not execute: %s" % run)


class Load(threading.Thread):
    """Executions during the backup."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended, self.count = server, threading.Event(), 0

    def run(self):
        while not self.ended.is_set():
            self.server.call("POST", "/v1/graphs/trip/execute", {"inputs": {"country": "Chile"}})
            self.count += 1


def database(url, name, user="dsrs"):
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc="%s@localhost" % user, path="/" + name))


def program(*arguments, **variables):
    done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        raise SystemExit("%s\n%s%s" % (" ".join(arguments), done.stdout, done.stderr))


def dump_as_server(admin, file):
    """With the role of the server, as where nobody is a superuser."""
    program("pg_dump", "--format=custom", "--enable-row-security", "--file", file, database(admin, "live"),
            PGOPTIONS="-c dsrs.workspace=*")


def dump_as_superuser(admin, file):
    program("pg_dump", "--format=custom", "--file", file, database(admin, "live", "postgres"))


def by_dump(scratch, models):
    admin = os.environ["DATABASE_URL"]
    program("psql", "-q", "-d", admin, "-c", "create role dsrs login")
    program("psql", "-q", "-d", admin, "-c", "create database live owner dsrs")
    dumps = {"superuser": dump_as_superuser, "server": dump_as_server}
    with running(scratch, {**models, "DATABASE_URL": database(admin, "live")}) as live:
        key = fill(live)
        before = contents(live, key)
        load = Load(live)
        load.start()
        while load.count < 20:
            time.sleep(0.01)
        for name, dump in dumps.items():
            dump(admin, str(scratch / name))
        load.ended.set()
        load.join()
    print("two backups beside %d executions" % load.count)
    for name in dumps:
        program("psql", "-q", "-d", admin, "-c", "create database restored_%s owner dsrs" % name)
        restored_url = database(admin, "restored_" + name)
        program("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--dbname", restored_url, str(scratch / name))
        with running(scratch, {**models, "DATABASE_URL": restored_url}) as restored:
            compare(before, contents(restored, key), "pg_dump as the %s, pg_restore" % name)
            still_works(restored)


def private_into_own(admin, first, dump):
    """The private Postgres, while its server runs, into a database of the operator."""
    program("pg_dump", "--host", str(first / "postgres/socket"), "--username", "dsrs", "--format=custom", "--file", dump, "dsrs")
    program("psql", "-q", "-d", admin, "-c", "create database restored_private owner dsrs")
    url = database(admin, "restored_private")
    program("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--dbname", url, dump)
    return url


def by_copy(scratch, models, moves):
    first, second = scratch / "data", scratch / "copy"
    with running(scratch, {**models, "DSRS_DATA_DIR": str(first)}) as live:
        key = fill(live)
        before = contents(live, key)
        moved = private_into_own(os.environ["DATABASE_URL"], first, str(scratch / "private")) if moves else None
    if moved:
        with running(scratch, {**models, "DATABASE_URL": moved}) as restored:
            compare(before, contents(restored, key), "pg_dump of the private Postgres, pg_restore into another")
            still_works(restored)
    program("cp", "-a", str(first), str(second))
    shutil.rmtree(first)
    with running(scratch, {**models, "DSRS_DATA_DIR": str(second)}) as restored:
        compare(before, contents(restored, key), "a copy of the data directory")
        still_works(restored)


def main():
    # Readable for the user of Postgres, who is not root.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-backup-", dir="/tmp"))
    scratch.chmod(0o711)
    lm = subprocess.Popen([sys.executable, str(ROOT / "scripts/stand_in_lm.py")], stdout=subprocess.PIPE, text=True)
    try:
        models = {"OPENAI_BASE_URL": lm.stdout.readline().strip(), "DSRS_MODEL": "stand-in"}
        has_clients = all(map(shutil.which, ("pg_dump", "pg_restore", "psql")))
        if has_clients:
            by_dump(scratch, models)
        else:
            print("backup: SKIPPED: no pg_dump and psql beside the Postgres programs; only the copy is tested", file=sys.stderr)
        by_copy(scratch, models, has_clients)
    finally:
        lm.terminate()
        lm.wait()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
