"""An MCP server over standard input and output that answers when it may: a test decides which of its processes is slow.

    gated_server.py DIRECTORY METHODS: its process for the newest handshake is `1`, that for the older one `2`. It continues
    when the file `1.gate` exists, and writes the method of each message that it read into `1.log`. METHODS are those that it
    answers, with commas; `refuse` answers others with an error instead of ignoring them
"""

import itertools
import json
import os
import sys
import time

DIRECTORY, METHODS = sys.argv[1], sys.argv[2].split(",")
RESULTS = {
    "server/discover": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                        "ttlMs": 0, "cacheScope": "private"},
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "gated", "version": "1"}},
}


FIRST = sys.stdin.readline()
# By the handshake, so that it does not matter which process is faster.
NAME = os.path.join(DIRECTORY, "1" if "server/discover" in FIRST else "2")


def note(line):
    with open(NAME + ".log", "a", encoding="utf-8") as log:
        log.write(line + "\n")


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


note("started")
while not os.path.exists(NAME + ".gate"):
    time.sleep(0.01)
for text in itertools.chain([FIRST], sys.stdin):
    asked = json.loads(text)
    method = asked["method"]
    note(method)
    if "id" in asked and method in METHODS:
        say({"id": asked["id"], "result": RESULTS[method]})
    elif "id" in asked and "refuse" in METHODS:
        say({"id": asked["id"], "error": {"code": -32601, "message": "there is no such method"}})
