#!/usr/bin/env python3
"""Takes the picture of the README, docs/pictures/readme.png: the page of a graph with a node selected.

    DSRS_LM_ANSWERS=$PWD/scripts/snippets_answers.json scripts/with-server.sh python3 $PWD/scripts/readme_picture.py

Drives headless Chromium through chromedriver.
"""

import base64
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/pictures/readme.png"
LARGEST = 150_000
WINDOW = (1240, 860)
GRAPH = {
    "name": "desk", "description": "Sorts a ticket and answers it",
    "types": {"Queue": {"enum": {"amber": None, "blue": None, "green": None}}},
    "nodes": {"triage": {"strategy": "predict", "signature": "ticket -> topic, queue: Queue"},
              "facts": {"strategy": "react", "signature": "topic -> facts: list[str]", "config": {"tools": ["current_time"]}},
              "reply": {"strategy": "chain_of_thought", "signature": "ticket, queue: Queue, facts: list[str] -> answer"}},
    "edges": [{"from": "triage.queue", "to": "reply.queue"}, {"from": "triage.topic", "to": "facts.topic"},
              {"from": "facts.facts", "to": "reply.facts"}],
    "outputs": {"queue": "triage.queue", "answer": "reply.answer"}}
DEMOS = [{"input": {"ticket": "Where is my parcel?"}, "output": {"topic": "a late parcel", "queue": "blue"}},
         {"input": {"ticket": "I need an invoice."}, "output": {"topic": "an invoice", "queue": "amber"}}]


def send(url, method, body=None, headers=()):
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    for name, value in headers:
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def fill(url, key):
    headers = [("Authorization", "Bearer " + key)]
    send(url + "/v1/graphs", "POST", GRAPH, headers)
    send(url + "/v1/graphs/desk/predictors/triage", "PATCH", {"demos": DEMOS}, headers)


class Browser:
    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.driver = subprocess.Popen(["chromedriver", "--port=%d" % port], stdout=subprocess.DEVNULL)
        self.base = "http://127.0.0.1:%d" % port
        options = {"args": ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=%d,%d" % WINDOW]}
        capabilities = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        for _ in range(100):
            try:
                session = send(self.base + "/session", "POST", capabilities)["value"]["sessionId"]
                break
            except OSError:
                time.sleep(0.1)
        self.base += "/session/" + session

    def post(self, path, **body):
        return send(self.base + path, "POST", body)["value"]

    def picture(self):
        return base64.b64decode(send(self.base + "/screenshot", "GET")["value"])

    def end(self):
        send(self.base, "DELETE")
        self.driver.terminate()
        self.driver.wait()


def main():
    url, key = os.environ["DSRS_URL"], os.environ["DSRS_API_KEY"]
    fill(url, key)
    browser = Browser()
    try:
        # The page is signed in to as by a person.
        browser.post("/url", url=url + "/sign-in?next=" + urllib.parse.quote("/graphs/desk?node=triage"))
        field = browser.post("/element", using="css selector", value="input[type=password]")
        browser.post("/element/%s/value" % next(iter(field.values())), text=key + "\n")
        time.sleep(3)
        picture = browser.picture()
    finally:
        browser.end()
    if len(picture) > LARGEST:
        raise SystemExit("the picture has %d bytes, more than %d" % (len(picture), LARGEST))
    PICTURE.write_bytes(picture)
    print("%s: %d bytes" % (PICTURE.relative_to(ROOT), len(picture)))


if __name__ == "__main__":
    main()
