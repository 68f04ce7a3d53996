#!/usr/bin/env python3
"""Archives runs with a server, exports runs with the command line, and reads both with DuckDB.

    scripts/archive-test.sh
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time

import duckdb

from backup_test import running

GRAPH = {"name": "hello", "inputs": {"name": "str"}, "nodes": {
    "greet": {"strategy": "render", "config": {"template": "Hello {{ name }}"}}}}
RUNS = 150


def rows(query):
    return duckdb.sql(query).fetchall()


def export(url, *words):
    command = [os.environ["DSRS_BINARY"], "runs", "export", "--to", url, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def main():
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-archive-"))
    os.chmod(scratch, 0o777)
    archive, exported = scratch / "archive", scratch / "exported"
    settings = {"DATABASE_URL": os.environ["DATABASE_URL"], "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    with running(scratch, settings) as server:
        server.call("POST", "/v1/graphs", GRAPH)
        for number in range(RUNS):
            server.call("POST", "/v1/graphs/hello/execute", {"inputs": {"name": "number %d" % number}})
        time.sleep(1)
        expected = server.call("GET", "/v1/runs?limit=1")["items"][0]
    names = export("file://%s" % exported)
    assert len(names) == 1 and (exported / names[0]).exists(), names
    files = "'%s/**/*.parquet'" % exported
    [(count, distinct, least)] = rows("select count(*), count(distinct id), min(status) from %s" % files)
    assert (count, distinct, least) == (RUNS, RUNS, "succeeded"), (count, distinct, least)
    [(outputs, created, duration)] = rows(
        "select outputs, created_at, duration_ms from %s where id = '%s'" % (files, expected["id"]))
    assert json.loads(outputs) == {"text": "Hello number %d" % (RUNS - 1)}, outputs
    assert created.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] == expected["created_at"][:23], (created, expected)
    assert duration == expected["duration_ms"]
    [(greeted,)] = rows("select json_extract_string(inputs, '$.name') from %s order by id limit 1" % files)
    assert greeted == "number 0", greeted
    assert export("file://%s" % (scratch / "none"), "--until", "2020-01-01") == []
    print("DuckDB reads %d exported runs" % count)

    settings |= {"DSRS_RETENTION_RUNS": "1s", "DSRS_ARCHIVE_URL": "file://%s" % archive}
    with running(scratch, settings) as server:
        end = time.monotonic() + 60
        while server.call("GET", "/v1/runs?limit=1")["items"]:
            assert time.monotonic() < end, "the runs are not archived"
            time.sleep(0.2)
        found = server.call("GET", "/v1/runs/%s" % expected["id"])
        assert found["archived"] is True and found["outputs"]["text"] == "Hello number %d" % (RUNS - 1), found
    files = "'%s/**/*.parquet'" % archive
    assert rows("select count(*), count(distinct id) from %s" % files) == [(RUNS, RUNS)]
    [(same,)] = rows("select count(*) from (from '%s/**/*.parquet' intersect from %s)" % (exported, files))
    assert same == RUNS, same
    print("the archive has the same %d runs" % same)


if __name__ == "__main__":
    main()
