"""The graphs that the programs of this directory use, and requests to `/v1`."""

import json
import os
import time
import urllib.request

URL = os.environ["DSRS_URL"]
KEY = os.environ["DSRS_API_KEY"]


def request(method, path, body=None):
    """The document that the server answers."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(URL + path, data=data, method=method, headers=headers)
    with urllib.request.urlopen(call, timeout=60) as answer:
        return json.load(answer)


def node(signature):
    return {"strategy": "predict", "signature": signature}


def post_graphs():
    """Posts `reply`, a tool and a chat model of two outputs, and `talk`, one with a conversation."""
    request("POST", "/v1/graphs", {
        "name": "reply",
        "description": "Answers a customer",
        "nodes": {"triage": node("ticket -> mood"), "reply": node("ticket, mood -> answer")},
        "edges": [{"from": "input.ticket", "to": "triage.ticket"}, {"from": "input.ticket", "to": "reply.ticket"},
                  {"from": "triage.mood", "to": "reply.mood"}],
        "inputs": {"ticket": "str"},
        "outputs": {"answer": "reply.answer", "mood": "triage.mood"},
        "expose": {"openai": {"model": "desk/reply", "output": "answer"}, "mcp": {"name": "reply_to_ticket"}}})
    signature = {"inputs": [{"name": "question", "type": "str"},
                            {"name": "history", "type": "list[dict[str, str]]"}],
                 "outputs": [{"name": "answer", "type": "str"}]}
    request("POST", "/v1/graphs", {"name": "talk", "nodes": {"talk": {"strategy": "predict", "signature": signature}}})


def runs(status):
    return request("GET", f"/v1/runs?status={status}")["items"]


def until(done, seconds=30):
    """Waits until a function returns something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = done()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit("it did not happen")
