#!/usr/bin/env python3
"""The bytes that the record of an execution takes, with one server and with another.

    python3 bench/records.py --server before=PATH --server after=PATH

Each server gets a Postgres of its own and a model that answers in random words: questions and answers of executions
differ, as those of real ones do, and the same texts go to each server. The first executions of a graph are not counted:
they teach the server what runs of the graph have in common. `runs` is the table with its large values, `indexes` those of
the table, `others` what else is stored for a run, `WAL` what Postgres writes to its log, `dump` the size of a compressed
dump (`pg_dump -Fc`) of all of them. Read the ratios.
"""

import argparse
import concurrent.futures
import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time

import load
from background import ROLE, sql

CLIENTS = 8
# Frequent English words, so that the texts compress about as well as real ones.
WORDS = """the of and to in is that for it as was with be by on not he his but at are this have from which one had they
their all her were there we when who will more no if out so said what up its about into than them can only other new some
could time these two may then do first any my now such like our over man me even most made after also did many before must
through back years where much your way well down should because each just those people how too little state good very make
world still own see men work long get here between both life being under never day same another know while last might us
great old year off come since against go came right used take three answer question customer order refund invoice shipping
delivery account password payment address product warranty return broken late missing wrong item support ticket reply""".split()


def words(source, count):
    return " ".join(source.choice(WORDS) for _ in range(count))


class Model(http.server.BaseHTTPRequestHandler):
    """Answers each section that the prompt asks for with 5 to 60 words, chosen by the prompt."""

    protocol_version = "HTTP/1.1"
    # Otherwise each answer waits for an acknowledgement of its head, which is delayed by 40 ms.
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        last = json.loads(body)["messages"][-1]["content"]
        source = random.Random(last)
        names = [name for name in ("reasoning", "answer", "left", "right", "merged", "draft", "final") if "[[ ## %s ## ]]" % name in last]
        asked = [part.split(" ## ]]")[0] for part in last.rsplit("respond", 1)[-1].split("[[ ## ")[1:]]
        names = [name for name in asked if name != "completed"] or names
        text = "".join("[[ ## %s ## ]]\n%s\n\n" % (name, words(source, source.randint(5, 60))) for name in names)
        answer = json.dumps({
            "id": "chatcmpl-%016x" % source.getrandbits(64), "object": "chat.completion", "model": "fake-1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text + "[[ ## completed ## ]]"}}],
            "usage": {"prompt_tokens": len(body) // 4, "completion_tokens": len(text) // 4, "total_tokens": (len(body) + len(text)) // 4},
        }).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class ModelServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def execute(url, case, seeds, most):
    connection = http.client.HTTPConnection(url[7:], timeout=60)
    for seed in seeds:
        source = random.Random("%s %d" % (case, seed))
        body = json.dumps({"inputs": {"question": words(source, source.randint(most // 16, most))}})
        connection.request("POST", "/v1/graphs/bench-%s/execute" % case, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200 or json.loads(text)["status"] != "succeeded":
            load.fail("%d %s" % (answer.status, text[:500]))


def execute_all(url, case, first, count, most):
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        parts = [range(first + client, first + count, CLIENTS) for client in range(CLIENTS)]
        for done in [clients.submit(execute, url, case, seeds, most) for seeds in parts]:
            done.result()


SIZES = """select coalesce(sum(pg_table_size(relid)) filter (where root = 'runs'), 0),
    coalesce(sum(pg_indexes_size(relid)) filter (where root = 'runs'), 0),
    coalesce(sum(pg_total_relation_size(relid)) filter (where root <> 'runs'), 0),
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')
from (select relid, 'runs' as root from pg_partition_tree('runs') where isleaf
      union all select oid, relname::text from pg_class where relkind = 'r' and relname not like 'runs%'
          and relnamespace = current_schema()::regnamespace) as tables"""


def sizes(data):
    sql(data, "vacuum")
    found = dict(zip(("runs", "indexes", "others", "WAL"), (float(number) for number in sql(data, SIZES))))
    lines = next(data.rglob("postmaster.pid")).read_text().split("\n")
    dump = ["pg_dump", "-Fc", "--data-only", "-h", lines[4].strip(), "-p", lines[3].strip(), "-U", ROLE, "-d", ROLE]
    found["dump"] = len(subprocess.run(dump, capture_output=True, check=True).stdout)
    return found


def measure(binary, model, options, scratch):
    data = scratch / "data"
    server = load.Server(binary, data, model, "ack")
    found = {}
    try:
        server.ready()
        server.post_graphs()
        for case in options.case:
            execute_all(server.url, case, 0, options.first, options.words)
            time.sleep(options.pause)
            execute_all(server.url, case, options.first, CLIENTS, options.words)
            time.sleep(2)
            before = sizes(data)
            execute_all(server.url, case, options.first + CLIENTS, options.runs, options.words)
            after = sizes(data)
            found[case] = {name: (after[name] - before[name]) / options.runs for name in before}
    finally:
        load.stop(server.process)
        shutil.rmtree(data, ignore_errors=True)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--server", action="append", required=True, metavar="NAME=PATH")
    options.add_argument("--case", action="append", choices=load.CASES)
    options.add_argument("--first", type=int, default=400, help="executions of each graph that are not counted")
    options.add_argument("--pause", type=float, default=15, help="seconds in which the server learns from them")
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--words", type=int, default=80, help="the most words of a question")
    options = options.parse_args()
    options.case = options.case or list(load.CASES)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-records-"))
    scratch.chmod(0o755)
    model = ModelServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d/v1" % model.server_port
    try:
        names, found = [], []
        for named in options.server:
            name, path = named.split("=", 1)
            names.append(name)
            found.append(measure(os.path.abspath(path), url, options, scratch))
        print("| bytes for a run | %s | %s : %s |" % (" | ".join(names), names[-1], names[0]))
        print("|---|%s---|" % ("---|" * len(names)))
        for case in options.case:
            for kind in found[0][case]:
                values = [one[case][kind] for one in found]
                ratio = "%.2f" % (values[-1] / values[0]) if values[0] else "-"
                print("| %s, %s | %s | %s |" % (case, kind, " | ".join("%.0f" % value for value in values), ratio))
    finally:
        model.shutdown()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
