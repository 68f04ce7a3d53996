#!/usr/bin/env python3
"""What a feature costs the executions that use it, and those that do not: CPU of the server and of its Postgres for one
`predict`, beside a server without the feature, in alternating rounds.

    python3 bench/features.py --server PATH
    python3 bench/features.py --server PATH --feature labels --rounds 30

Rows that end with `elsewhere` have the feature in the workspace for something else; such an execution should cost what one
costs without it. `nothing` compares two equal servers: no other ratio is known better.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import urllib.request

from load import DIRECT, INPUTS, ROOT, WARM_SECONDS, Server, cargo_build, cpu_seconds, fail, start_fakelm, stop, tree_cpu_seconds

HOOK = {"name": "hook", "url": "http://127.0.0.1:9/", "events": ["run.failed"]}
ONLINE = {"sample": 1.0, "metrics": {"short": {"expression": "outputs.answer|length < 400"}}}
LABELS = {"tags": ["bench"], "session_id": "s-1", "user_id": "u-1", "metadata": {"channel": "mail"}}
SECRET = "bench-key-0123456789-0123456789-0123456789"


class Feature:
    def __init__(self, name, settings=None, body=None, key=None, prepare=None):
        self.name, self.settings, self.body = name, settings or {}, body or {}
        self.key, self.prepare = key, prepare


def request(server, method, path, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = "Bearer " + key
    data = None if body is None else json.dumps(body).encode()
    with DIRECT.open(urllib.request.Request(server.url + path, data, headers, method=method), timeout=30) as answer:
        return json.load(answer)


def other_graph(server, key):
    graph = json.loads((ROOT / "bench/graphs/one.json").read_text())
    request(server, "POST", "/v1/graphs", dict(graph, name="elsewhere"), key)


def webhook(server, key):
    other_graph(server, key)
    request(server, "POST", "/v1/webhooks", dict(HOOK, graph="elsewhere"), key)


def online(server, key):
    other_graph(server, key)
    request(server, "PUT", "/v1/graphs/elsewhere/online-evaluation", ONLINE, key)


def limited_key(server, key):
    created = request(server, "POST", "/v1/keys", {"name": "limited", "scopes": ["execute", "read"],
                      "limits": {"requests_per_minute": 100000000, "tokens_per_day": 1000000000000}}, key)
    return created["key"]


ALLOW = {"DSRS_WEBHOOKS_ALLOW": "127.0.0.1"}
KEYS = {"DSRS_API_KEYS": SECRET}
FEATURES = [
    Feature("nothing"),
    Feature("a key of the settings", KEYS, key=SECRET),
    Feature("a key with limits", KEYS, key=SECRET, prepare=limited_key),
    Feature("labels", body=LABELS),
    Feature("a webhook, elsewhere", ALLOW, prepare=webhook),
    Feature("an online evaluation, elsewhere", prepare=online),
]


def wrk(server, body, key, options, seconds, scratch):
    script = scratch / "features.lua"
    script.write_text(
        "wrk.method = 'POST'\nwrk.body = [==[%s]==]\nwrk.headers['Content-Type'] = 'application/json'\n%s"
        "done = function(s) io.write(string.format('RESULT %%d %%d\\n', s.requests, s.errors.status)) end\n" % (
            json.dumps(dict(body, inputs=INPUTS)), "wrk.headers['Authorization'] = 'Bearer %s'\n" % key if key else ""))
    ended = subprocess.run(["wrk", "-t1", "-c%d" % options.concurrency, "-d%ds" % seconds, "-s", str(script),
                            server.url + "/v1/graphs/bench-one/execute"], capture_output=True, text=True)
    words = ended.stdout.rsplit("RESULT ", 1)[-1].split()
    if ended.returncode or len(words) < 2 or words[1] != "0":
        fail("wrk: " + ended.stdout + ended.stderr)
    return int(words[0])


def measure(server, feature, key, options, scratch):
    postmaster = server.postmaster()
    own, beside = cpu_seconds(server.pid), tree_cpu_seconds(postmaster)
    requests = wrk(server, feature.body, key, options, options.seconds, scratch)
    return (cpu_seconds(server.pid) - own) * 1e6 / requests, (tree_cpu_seconds(postmaster) - beside) * 1e6 / requests


def opened(options, lm, record, feature, place):
    place.mkdir(parents=True)
    place.parent.chmod(0o755)
    place.chmod(0o755)
    server = Server(options.server, place / "data", lm, record, feature.settings)
    server.ready()
    request(server, "POST", "/v1/graphs", json.loads((ROOT / "bench/graphs/one.json").read_text()), feature.key)
    key = feature.prepare(server, feature.key) if feature.prepare else None
    return server, key or feature.key


def measured_rounds(options, lm, record, feature, scratch):
    """Of each round: CPU of the server without and with the feature and their ratio, then the same of Postgres."""
    servers = []
    try:
        for number, one in enumerate((FEATURES[0], feature)):
            servers.append((*opened(options, lm, record, one, scratch / record / feature.name.replace(" ", "-") / str(number)), one))
        for server, key, one in servers:
            wrk(server, one.body, key, options, WARM_SECONDS, scratch)
        rounds = []
        for number in range(options.rounds):
            order = servers if number % 2 else servers[::-1]
            found = {server: measure(server, one, key, options, scratch) for server, key, one in order}
            without, having = (found[server] for server, _, _ in servers)
            rounds.append((without[0], having[0], having[0] / without[0], without[1], having[1], having[1] / max(without[1], 1e-9)))
        return rounds
    finally:
        for server, _, _ in servers:
            stop(server.process)


def compare(options, lm, record, feature, scratch):
    medians = [statistics.median(column) for column in zip(*measured_rounds(options, lm, record, feature, scratch))]
    beside = "%.0f | %.0f | %.2f" % tuple(medians[3:]) if record != "off" else "- | - | -"
    return "| %s | %s | %.0f | %.0f | **%.3f** | %s |" % (record, feature.name, *medians[:3], beside)


def figures(tools):
    """Of each feature, the CPU of the server and of Postgres with `ack` beside a server without it."""
    from reporting.figures import figure

    name, binary = next(iter(tools.servers()))
    options = argparse.Namespace(server=binary, rounds=tools.rounds, seconds=tools.seconds, concurrency=32)
    found = []
    with tools.folder() as scratch, tools.model() as lm:
        for feature in FEATURES:
            rounds = measured_rounds(options, lm, "ack", feature, scratch)
            found.append(figure("%s: server" % feature.name, "×", {name: [each[2] for each in rounds]}))
            found.append(figure("%s: Postgres" % feature.name, "×", {name: [each[5] for each in rounds]}))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="a binary")
    parser.add_argument("--feature", action="append", help="a part of a name; repeatable, default all")
    parser.add_argument("--record", action="append", choices=("off", "ack", "async"), help="repeatable; default off and ack")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=1, help="of one measurement")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--fakelm", help="the stand-in LM, built already")
    options = parser.parse_args()
    folder = pathlib.Path(os.environ.get("FAKELM_DIR", ROOT.parent / "shared/fakelm"))
    fakelm, lm = start_fakelm(options.fakelm or cargo_build(folder / "Cargo.toml", "fakelm", dict(os.environ)))
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
    scratch.chmod(0o755)
    try:
        print("| runs.record | feature | server without, µs | with | ratio | Postgres without, µs | with | ratio |\n|" + "---|" * 8)
        for record in options.record or ("off", "ack"):
            for feature in FEATURES:
                if not options.feature or any(part in feature.name for part in options.feature):
                    print(compare(options, lm, record, feature, scratch), flush=True)
    finally:
        stop(fakelm)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
