"""Posts the example graphs and their demos to a running server, executes one graph and prints what happened.

It is the second half of demo.sh and speaks nothing but the HTTP API. Usage:
    python3 scripts/first_contact.py http://127.0.0.1:8080
"""

import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
GRAPH, INPUTS = "capital", {"country": "France"}
# Above the run's own limit, so that a slow machine gets the server's word and not a cut line.
EXECUTE_SECONDS = 320


class Refused(Exception):
    """An answer that is not a success: its status and its problem document."""

    def __init__(self, status, problem):
        super().__init__("%s %s: %s" % (status, problem.get("code", "?"), problem.get("detail", problem.get("title", ""))))
        self.status, self.problem = status, problem


class Api:
    def __init__(self, base):
        self.base = base.rstrip("/")
        # A server that was given keys wants one of them from us too.
        self.key = os.environ.get("DSRS_API_KEYS", "").split(",")[0].strip()
        # The server is on this machine: a proxy of the environment has no business in between.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, method, path, body=None, seconds=30):
        request = urllib.request.Request(self.base + path, method=method)
        if self.key:
            request.add_header("Authorization", "Bearer " + self.key)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with self.opener.open(request, timeout=seconds) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, read_problem(error)) from None


def read_problem(error):
    text = error.read().decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return {"detail": text[:300]}


def put_graph(api, graph):
    """Creates the graph, or makes the stored one what the file says; a second run changes nothing."""
    try:
        return api.call("POST", "/v1/graphs", graph), "created"
    except Refused as refused:
        if refused.status != 409:
            raise
    return api.call("PUT", "/v1/graphs/" + graph["name"], graph), "already there"


def overrides(state):
    """What a state changes: predictors without any are as good as absent."""
    kept = {}
    for path, predictor in state["predictors"].items():
        instruction, demos = predictor.get("instruction"), predictor.get("demos") or []
        if instruction is not None or demos:
            kept[path] = (instruction, demos)
    return kept


def put_state(api, name, state):
    """Puts the demos of the file in force, unless they are."""
    path = "/v1/graphs/%s/state" % name
    held = api.call("GET", path)
    if overrides(held) == overrides(state):
        return held
    return api.call("PUT", path, state)


def post_examples(api):
    for file in sorted((EXAMPLES / "graphs").glob("*.json")):
        graph, outcome = put_graph(api, json.loads(file.read_text(encoding="utf-8")))
        line = "  %-12s version %s, %s" % (graph["name"], graph["version"], outcome)
        state_file = EXAMPLES / "states" / file.name
        if state_file.exists():
            state = put_state(api, graph["name"], json.loads(state_file.read_text(encoding="utf-8")))
            demos = sum(len(p.get("demos") or []) for p in state["predictors"].values())
            line += "; state %s with %d demos" % (state["version"], demos)
        print(line)


def one_line(value, width=96):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def print_span(span, depth):
    pad = "  " * (depth + 1)
    usage = span.get("usage") or {}
    notes = ["%d ms" % round(span["duration_ms"])] if span.get("duration_ms") is not None else []
    if usage.get("input_tokens") is not None and span["kind"] == "lm":
        notes.append("%s tokens in, %s out" % (usage["input_tokens"], usage.get("output_tokens")))
    print("%s%s %s: %s (%s)" % (pad, span["kind"], span.get("name") or "", span["status"], ", ".join(notes)))
    if span["kind"] == "lm":
        messages = span.get("messages") or []
        if messages:
            print("%s  asked     %s (the last of %d messages)" % (pad, one_line(messages[-1].get("content", "")), len(messages)))
        if span.get("raw") is not None:
            print("%s  answered  %s" % (pad, one_line(span["raw"])))
    if span["kind"] == "node":
        for name, value in (span.get("outputs") or {}).items():
            print("%s  %s = %s" % (pad, name, one_line(value)))
    if span.get("error"):
        print("%s  error     %s" % (pad, one_line(span["error"])))


def print_trace(spans):
    """The spans as a tree; one whose parent is not in the list stands at the top."""
    known = {span["id"] for span in spans}
    children = {}
    for span in spans:
        parent = span.get("parent_id")
        children.setdefault(parent if parent in known else None, []).append(span)

    def walk(parent, depth):
        for span in children.get(parent, []):
            print_span(span, depth)
            walk(span["id"], depth + 1)

    walk(None, 0)


def execute(api):
    print("\nExecuting %s with %s" % (GRAPH, json.dumps(INPUTS)))
    run = api.call("POST", "/v1/graphs/%s/execute" % GRAPH, {"inputs": INPUTS, "trace": True}, EXECUTE_SECONDS)
    print("\nAnswer (%d ms, %s calls of the model)" % (round(run["duration_ms"]), run["usage"]["lm_calls"]))
    for name, value in run["outputs"].items():
        print("  %s: %s" % (name, one_line(value, 400)))
    print("\nTrace")
    print_trace(run["trace"]["spans"])
    stored = api.call("GET", "/v1/runs/" + run["id"])
    if stored["status"] != "succeeded" or stored["outputs"] != run["outputs"]:
        raise SystemExit("the stored run %s is not the one that was answered" % run["id"])
    print("\nThe run is stored: %s/runs/%s" % (api.base, run["id"]))


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    api = Api(sys.argv[1])
    try:
        print("Graphs")
        post_examples(api)
        execute(api)
    except Refused as refused:
        print("the server refused: %s" % refused, file=sys.stderr)
        for problem in refused.problem.get("errors") or []:
            print("  %(pointer)s %(code)s: %(detail)s" % {"pointer": "", "code": "", "detail": "", **problem}, file=sys.stderr)
        if refused.problem.get("raw"):
            print("  the model wrote: %s" % one_line(refused.problem["raw"], 400), file=sys.stderr)
        return 1
    except OSError as error:
        print("no answer from %s: %s" % (api.base, error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
