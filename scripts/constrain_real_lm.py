"""Counts how many answers of a small real model are read, over example signatures and without demos.

    python3 scripts/constrain_real_lm.py                       a hundred answers under `constrain = "gbnf"`
    python3 scripts/constrain_real_lm.py --constrain none      the same without
    python3 scripts/constrain_real_lm.py --lm http://HOST/v1   on another model (its name by --model)

Starts the server (target/debug/dsrs-server unless --server names one) on a scratch directory, and the model by
scripts/real-lm.sh unless --lm names one that runs. Every prediction is one request: nothing is asked twice.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
READY_SECONDS = 120
EXECUTE_SECONDS = 120

TYPES = {
    "Mood": {"enum": {"calm": "at ease", "angry": None, "worried": None}},
    "Person": {"class": {"name": "str", "age": "int?", "skills": "list[str]"}},
}
TEXTS = [
    "The parcel came two days late and the box was torn, but the lamp works.",
    "My name is Ana Silva, I am 31 years old and I mend bicycles and clocks in Porto.",
    "We sold 12 apples, 7 pears and 3 melons on Monday, and nothing on Tuesday.",
    "Why is my invoice still wrong? I have written three times and nobody answers!",
    "The sky is blue because air scatters short waves of light more than long ones.",
]
# A signature for every kind of output: text, choice, numbers, lists, classes, and what puts them together.
CASES = {
    "text": ("predict", "text -> summary"),
    "two texts": ("predict", "text -> title, summary"),
    "reasoning": ("chain_of_thought", "text -> is_complaint: bool"),
    "enum and list": ("predict", "text -> mood: Mood, topics: list[str]"),
    "literal and int": ("predict", 'text -> verdict: "good" | "bad" | "mixed", stars: int'),
    "numbers": ("predict", "text -> numbers: list[int], mean: float"),
    "class": ("predict", "text -> person: Person"),
    "list of classes": ("predict", "text -> people: list[Person]"),
    "optional": ("predict", "text -> city: str?, year: int?"),
    "dict": ("predict", "text -> counts: dict[str, int]"),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(method, url, body=None, seconds=30):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=seconds) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def start_server(options, lm, scratch):
    """The server on a free port, its data in the scratch directory; its process and URL."""
    address = "127.0.0.1:%d" % free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DSRS_", "OPENAI_", "DATABASE_"))}
    environment.setdefault("PG_BIN", subprocess.check_output([ROOT / "scripts/ensure-postgres.sh"], text=True).strip())
    environment.update(
        DSRS_BIND=address,
        DSRS_DATA_DIR=str(scratch / "data"),
        DSRS_MODELS__SMALL__BASE_URL=lm,
        DSRS_MODELS__SMALL__MODEL=options.model,
        DSRS_MODELS__SMALL__MAX_TOKENS=str(options.max_tokens),
        DSRS_MODELS__SMALL__CONSTRAIN=options.constrain,
        DSRS_MODELS__SMALL__TIMEOUT_MS="60000",
    )
    log = open(scratch / "server.log", "w")
    process = subprocess.Popen([options.server, "serve"], env=environment, stdout=log, stderr=log, cwd=scratch)
    url, deadline = "http://" + address, time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if call("GET", url + "/readyz")[0] == 200:
                return process, url
        except OSError:
            time.sleep(0.2)
    process.kill()
    sys.exit("the server did not start:\n" + (scratch / "server.log").read_text()[-2000:])


def count(url, runs, verbose):
    """Executes the signatures in turn; per case: answers read, answers read without leniency, answers."""
    names = list(CASES)
    for index, (strategy, signature) in enumerate(CASES.values()):
        node = {"strategy": strategy, "signature": signature, "retries": 0, "parse_retries": 0}
        status, answer = call("POST", url + "/v1/graphs", {"name": "case-%d" % index, "types": TYPES, "nodes": {"ask": node}})
        if status != 201:
            sys.exit("case %s: %s" % (names[index], json.dumps(answer)))
    counts = {name: [0, 0, 0] for name in names}
    for run in range(runs):
        index = run % len(names)
        body = {"inputs": {"text": TEXTS[run // len(names) % len(TEXTS)]}, "trace": True}
        status, answer = call("POST", url + "/v1/graphs/case-%d/execute" % index, body, EXECUTE_SECONDS)
        seen = counts[names[index]]
        seen[2] += 1
        if status == 200:
            seen[0] += 1
            lenient = any(span.get("parse_report") for span in answer["trace"]["spans"])
            seen[1] += not lenient
        if verbose or status != 200:
            shown = answer.get("outputs") if status == 200 else answer.get("detail")
            print("%3d %-16s %s %s" % (run + 1, names[index], status, json.dumps(shown, ensure_ascii=False)), flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constrain", default="gbnf", choices=["gbnf", "json_schema", "none"])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--max-tokens", type=int, default=160)
    parser.add_argument("--lm", help="base URL of a model that runs already")
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--server", default=str(ROOT / "target/debug/dsrs-server"))
    parser.add_argument("--least", type=int, default=0, help="fail when fewer answers are read")
    parser.add_argument("--verbose", action="store_true", help="show every answer")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="constrain-") as directory:
        scratch = pathlib.Path(directory)
        # The private Postgres may run under another user, which has to reach its data.
        scratch.chmod(0o755)
        real_lm = [str(ROOT / "scripts/real-lm.sh")]
        lm = options.lm or subprocess.check_output([*real_lm, "start", str(scratch / "lm")], text=True).strip()
        process, url = start_server(options, lm, scratch)
        try:
            began = time.monotonic()
            counts = count(url, options.runs, options.verbose)
            seconds = time.monotonic() - began
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            if not options.lm:
                subprocess.run([*real_lm, "stop", str(scratch / "lm")], check=False)
    for name, (read, exact, asked) in counts.items():
        print("%-16s %3d of %3d read, %3d without leniency" % (name, read, asked, exact))
    read, exact, asked = (sum(column) for column in zip(*counts.values()))
    print("constrain = %s: %d of %d read, %d without leniency, %.1f s an answer"
          % (options.constrain, read, asked, exact, seconds / max(asked, 1)))
    sys.exit(1 if read < options.least else 0)


if __name__ == "__main__":
    main()
