#!/usr/bin/env python3
"""Runs a graph on the server of DSRS_URL, and checks the trace of the run in Phoenix.

    scripts/otlp_phoenix.py PHOENIX_URL

Phoenix has to show one tree of spans below the request, with the kinds, the model, the tokens and the texts that its
page shows.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

PATIENCE = 60
GRAPH = {"name": "qa", "nodes": {"ask": {"strategy": "chain_of_thought", "signature": "question -> answer"}}}


def ask(url, body=None, key=None):
    request = urllib.request.Request(url, data=json.dumps(body).encode() if body is not None else None)
    request.add_header("content-type", "application/json")
    if key:
        request.add_header("authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def spans_of(phoenix, trace):
    found, cursor = [], ""
    while True:
        page = ask(f"{phoenix}/v1/projects/default/spans?limit=100{cursor}")
        found += [span for span in page["data"] if span["context"]["trace_id"] == trace]
        if not page.get("next_cursor"):
            return found
        cursor = f"&cursor={page['next_cursor']}"


def until(phoenix, trace, count):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            found = spans_of(phoenix, trace)
        except urllib.error.HTTPError as error:
            # There is no project before the first span.
            if error.code != 404:
                raise
            found = []
        if len(found) >= count:
            return found
        if time.monotonic() > deadline:
            sys.exit(f"Phoenix has {len(found)} spans of the run instead of {count}: {found}")
        time.sleep(0.5)


def main():
    phoenix, (url, key) = sys.argv[1], (os.environ["DSRS_URL"], os.environ["DSRS_API_KEY"])
    ask(f"{url}/v1/graphs", GRAPH, key)
    run = ask(f"{url}/v1/graphs/qa/execute", {"inputs": {"question": "Where is it?"}}, key)
    spans = until(phoenix, run["id"].replace("-", ""), 5)
    by_name = {span["name"].split(" ")[0]: span for span in spans}
    ids = {span["context"]["span_id"]: span["name"] for span in spans}
    roots = [span for span in spans if not span.get("parent_id")]
    assert [span["name"] for span in roots] == ["POST /v1/graphs/{graph}/execute"], roots
    assert all(span["parent_id"] in ids for span in spans if span.get("parent_id")), spans
    kinds = {name: by_name[name]["span_kind"] for name in ("invoke_workflow", "node", "predict", "chat")}
    assert kinds == {"invoke_workflow": "CHAIN", "node": "CHAIN", "predict": "CHAIN", "chat": "LLM"}, kinds
    chat = by_name["chat"]["attributes"]
    assert chat["llm.model_name"] == "stand-in", chat
    assert chat["llm.token_count.total"] > 0, chat
    assert "Where is it?" in chat["input.value"], chat
    assert json.loads(by_name["invoke_workflow"]["attributes"]["output.value"]) == run["outputs"], run
    print(f"Phoenix shows run {run['id']}: " + ", ".join(sorted(ids.values())))


main()
