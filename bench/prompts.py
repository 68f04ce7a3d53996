#!/usr/bin/env python3
"""Compares what two servers' strategies make of one language model, before and after a change of prompts.

    scripts/real-lm.sh start                                  # a small real model; prints its URL
    python3 bench/prompts.py --lm URL --before OLD --after NEW

OLD and NEW are server binaries. Each strategy answers the same questions on both; the table counts runs that
succeeded, right answers, LM calls and input tokens. Constrained decoding (gbnf) is on unless --constrain none.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

LABEL = {"signature": "text -> label: Label", "types": {"Label": {"enum": {"positive": None, "negative": None}}}}
TEXTS = [
    ("I love this lamp, it is perfect.", "positive"), ("The box was torn and the lamp is broken.", "negative"),
    ("What a wonderful evening we had.", "positive"), ("Terrible service, I want my money back.", "negative"),
    ("The soup was delicious and warm.", "positive"), ("I waited three hours and no help came.", "negative"),
    ("Great book, I read it twice.", "positive"), ("The worst hotel I have ever seen.", "negative"),
    ("Friendly staff and a clean room.", "positive"), ("It stopped working after one day.", "negative"),
    ("My children enjoy this game a lot.", "positive"), ("The film was boring and far too long.", "negative"),
    ("Fast delivery, well packed, thank you.", "positive"), ("The colour is wrong and the fabric is cheap.", "negative"),
    ("Best coffee in town.", "positive"), ("They lost my luggage and did not apologise.", "negative"),
    ("A beautiful garden with happy people.", "positive"), ("The food was cold and tasteless.", "negative"),
    ("I am very pleased with the result.", "positive"), ("I regret buying this phone.", "negative"),
]
SUMS = [(str(a) + " + " + str(b), a + b) for a, b in zip(range(11, 31), range(50, 9, -2))]
SUM = {"signature": "question -> answer: int"}
JUDGE = {"judge": {"signature": "text, label -> reasons, score: float", "score": "score"}}
# name: (node, inputs and expected output, output field)
CASES = {
    "predict": ({"strategy": "predict", **LABEL}, "label"),
    "chain_of_thought": ({"strategy": "chain_of_thought", **LABEL}, "label"),
    "majority": ({"strategy": "majority", **LABEL, "config": {"n": 3}}, "label"),
    "best_of_n": ({"strategy": "best_of_n", **LABEL, "config": {"module": {"strategy": "predict"}, "n": 2, "reward": JUDGE}}, "label"),
    "refine": ({"strategy": "refine", **LABEL, "config": {"module": {"strategy": "predict"}, "n": 3, "threshold": 0.9, "reward": JUDGE}}, "label"),
    "multi_chain_comparison": ({"strategy": "multi_chain_comparison", **LABEL}, "label"),
    "react": ({"strategy": "react", **SUM, "config": {"tools": ["calculator"], "max_iters": 3}}, "answer"),
    "program_of_thought": ({"strategy": "program_of_thought", **SUM, "config": {"max_iters": 2}}, "answer"),
}
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with DIRECT.open(request, timeout=600) as answer:
        return json.load(answer)


def start(binary, lm, constrain, scratch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DSRS_", "OPENAI_", "DATABASE_"))}
    environment.update({
        "DSRS_BIND": "127.0.0.1:%d" % port, "DSRS_DATA_DIR": str(scratch / "data"), "DSRS_CONFIG": str(scratch / "dsrs.toml"),
        "RUST_LOG": "warn"})
    (scratch / "dsrs.toml").write_text(
        '[models.default]\nprovider = "openai"\nmodel = "small"\nbase_url = "%s"\ntemperature = 0\nmax_tokens = 200\n'
        'timeout_ms = 300000\nconstrain = "%s"\n' % (lm, constrain))
    process = subprocess.Popen([binary, "serve"], env=environment, stdout=subprocess.DEVNULL)
    url = "http://127.0.0.1:%d" % port
    for _ in range(600):
        try:
            call("GET", url + "/readyz")
            return process, url
        except OSError:
            time.sleep(0.1)
    raise SystemExit("prompts: %s is not ready" % binary)


def answer(url, graph, inputs):
    try:
        return call("POST", "%s/v1/graphs/%s/execute" % (url, graph), {"inputs": inputs, "timeout_ms": 300000})
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def run(url, name, count):
    node, field = CASES[name]
    graph = name.replace("_", "-")
    types = {"types": node["types"]} if "types" in node else {}
    node = {key: value for key, value in node.items() if key != "types"}
    call("POST", url + "/v1/graphs", {"name": graph, "nodes": {"answer": node}, **types})
    questions = [({"text": t}, e) for t, e in TEXTS] if field == "label" else [({"question": q}, e) for q, e in SUMS]
    questions = questions[:count]
    ended = right = calls = tokens = 0
    for inputs, expected in questions:
        run = answer(url, graph, inputs)
        usage = run.get("usage") or {}
        calls, tokens = calls + usage.get("lm_calls", 0), tokens + usage.get("input_tokens", 0)
        ended += run.get("status") == "succeeded"
        right += (run.get("outputs") or {}).get(field) == expected
        if os.environ.get("PROMPTS_VERBOSE") and run.get("status") != "succeeded":
            print("   ", json.dumps(run)[:300])
    return "%d / %d | %d | %d | %d" % (ended, len(questions), right, calls, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lm", required=True)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--constrain", default="gbnf")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--strategy", action="append", choices=list(CASES))
    options = parser.parse_args()
    print("| strategy | server | succeeded | right | LM calls | input tokens |\n|---|---|---|---|---|---|", flush=True)
    for name in options.strategy or CASES:
        for label in ("before", "after"):
            # Not inside the clone: the private Postgres may run as another user, who must be able to reach it.
            with tempfile.TemporaryDirectory(prefix="dsrs-prompts-") as scratch:
                os.chmod(scratch, 0o755)
                process, url = start(getattr(options, label), options.lm, options.constrain, pathlib.Path(scratch))
                try:
                    print("| `%s` | %s | %s |" % (name, label, run(url, name, options.questions)), flush=True)
                finally:
                    process.send_signal(signal.SIGTERM)
                    process.wait(60)


if __name__ == "__main__":
    main()
