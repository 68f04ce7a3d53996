#!/usr/bin/env python3
"""Runs a server with `database.replica_url` on a real streaming standby: lists come from the standby, what it does not have
yet from the database itself; a standby that is late or gone is not asked.

    scripts/replica-test.sh
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.parse

from backup_test import program, running

PORT = 5499
MAX_LAG_SECONDS = 3
GRAPH = {"name": "hello", "inputs": {"name": "str"}, "nodes": {
    "greet": {"strategy": "render", "config": {"template": "Hello {{ name }}"}}}}


class Standby:
    """A standby of the Postgres at DATABASE_URL, which reads its log over a socket in the same directory."""

    def __init__(self, scratch):
        self.socket = urllib.parse.parse_qs(urllib.parse.urlsplit(os.environ["DATABASE_URL"]).query)["host"][0]
        self.data = str(scratch / "standby")
        self.user = pathlib.Path(self.socket, "data").owner()
        shutil.chown(scratch, self.user)
        self.run("pg_basebackup", "-h", self.socket, "-U", "postgres", "-D", self.data, "-R", "-X", "stream", "-c", "fast")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", str(scratch / "standby.log"), "-o",
                 "-p %d -c listen_addresses= -k %s" % (PORT, self.socket), "start")
        self.url = "postgres://postgres@localhost:%d/postgres?host=%s" % (PORT, self.socket)

    def run(self, *words):
        """Postgres refuses to run as root."""
        words = [os.path.join(os.environ["PG_BIN"], words[0]), *words[1:]]
        if os.geteuid() == 0:
            words = ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups", *words]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def replay(self, verb):
        program("psql", "-q", "-d", self.url, "-c", "select pg_wal_replay_%s()" % verb)

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")


def execute(server):
    return server.call("POST", "/v1/graphs/hello/execute", {"inputs": {"name": "Ann"}})["id"]


def listed(server):
    return [run["id"] for run in server.call("GET", "/v1/runs?limit=50")["items"]]


def until(what, is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit("not within %d s: %s" % (seconds, what))
        time.sleep(0.05)
    print(what)


def main():
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-replica-"))
    standby = Standby(scratch)
    settings = {"DATABASE_URL": os.environ["DATABASE_URL"], "DSRS_DATABASE_REPLICA_URL": standby.url,
                "DSRS_DATABASE_REPLICA_MAX_LAG": "%ds" % MAX_LAG_SECONDS, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    try:
        with running(scratch, settings) as server:
            server.call("POST", "/v1/graphs", GRAPH)
            first = execute(server)
            until("the standby has the run", lambda: listed(server) == [first])
            time.sleep(2)
            standby.replay("pause")
            second = execute(server)
            if listed(server) != [first]:
                raise SystemExit("the list does not come from the standby")
            print("a list comes from the standby, which does not have the newest run yet")
            if server.call("GET", "/v1/runs/" + second)["status"] != "succeeded":
                raise SystemExit("a run that the standby does not have yet is not found")
            print("a run that the standby does not have yet is found")
            until("a standby that is late is not asked", lambda: listed(server) == [second, first])
            standby.replay("resume")
            third = execute(server)
            until("it catches up", lambda: listed(server) == [third, second, first])
            time.sleep(2)
            standby.stop()
            fourth = execute(server)
            until("a standby that is gone is not missed", lambda: listed(server) == [fourth, third, second, first], 5)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
