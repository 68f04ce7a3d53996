"""A five-minute tour in Python, with the standard library alone.

    python3 examples/python/quickstart.py [http://127.0.0.1:8080]

Posts a graph of one node, executes it, reads the trace, teaches it with a few demos, executes it again.
DSRS_API_KEY is sent when the server wants a key.
"""

import json
import os
import sys
import urllib.error
import urllib.request

BASE = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080").rstrip("/")
NAME = "opposites"

GRAPH = {
    "name": NAME,
    "description": "Name the opposite of a word",
    "inputs": {"word": "str"},
    "nodes": {
        "answer": {
            "strategy": "predict",
            "signature": {
                "instructions": "Name the opposite of the word.",
                "inputs": [{"name": "word", "type": "str"}],
                "outputs": [{"name": "opposite", "type": "str"}],
            },
            "lm": {"temperature": 0.0, "max_tokens": 48},
        }
    },
    "edges": [{"from": "input.word", "to": "answer.word"}],
    "outputs": {"opposite": "answer.opposite"},
}

PAIRS = [("hot", "cold"), ("early", "late"), ("open", "closed"), ("full", "empty"), ("loud", "quiet"), ("rich", "poor")]


def call(method, path, body=None):
    """One request: (status, parsed answer). Problems are answers too (RFC 9457)."""
    headers = {"Content-Type": "application/json"}
    if os.environ.get("DSRS_API_KEY"):
        headers["Authorization"] = "Bearer " + os.environ["DSRS_API_KEY"]
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except urllib.error.URLError as error:
        sys.exit("no server at %s (%s); ./demo.sh starts one" % (BASE, error.reason))


def expect(status, wanted, answer):
    if status not in wanted:
        sys.exit("%d %s: %s" % (status, answer.get("code"), json.dumps(answer.get("errors") or answer.get("detail"))))
    return answer


def create():
    status, answer = call("POST", "/v1/graphs", GRAPH)
    if status == 409:  # it is there from an earlier run: PUT makes it what we say, as a new version if that differs
        status, answer = call("PUT", "/v1/graphs/" + NAME, GRAPH)
    graph = expect(status, (200, 201), answer)
    print("graph %s, version %d, state %d" % (graph["name"], graph["version"], graph["state_version"]))


def shown(text, width=56):
    """Text of a model on one line: it may be anything, and long."""
    line = json.dumps(text, ensure_ascii=False)
    return line if len(line) <= width else line[:width] + "…"


def execute(word):
    status, run = call("POST", "/v1/graphs/%s/execute" % NAME, {"inputs": {"word": word}, "trace": True})
    if status == 422 and run["code"] == "parse_error":
        # The model's words are in the problem. A small model hardly keeps the format before it has seen demos.
        print("  %s -> the model's answer does not fit: %s" % (word, shown(run.get("raw", run["detail"]))))
        return
    expect(status, (200,), run)
    print("  %s -> %s" % (word, shown(run["outputs"]["opposite"])))
    for span in run["trace"]["spans"]:
        if span["kind"] == "lm":
            print("    %s, %d ms, %d messages, the model wrote %s" % (
                span.get("model", "?"), span["duration_ms"], len(span["messages"]), shown(span.get("raw", ""))))


def teach(pairs):
    demos = [{"input": {"word": word}, "output": {"opposite": opposite}} for word, opposite in pairs]
    body = {"predictors": {"answer": {"instruction": None, "demos": demos}}}
    status, state = call("PUT", "/v1/graphs/%s/state" % NAME, body)
    expect(status, (200,), state)
    print("state %d is active: %d demos" % (state["version"], len(state["predictors"]["answer"]["demos"])))


if __name__ == "__main__":
    create()
    print("without demos")
    teach([])
    execute("day")
    print("with demos")
    teach(PAIRS)
    execute("day")
    execute("light")
