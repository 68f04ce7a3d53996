"""An MCP server over standard input and output with the habits of real ones: it is slow to start, knows only the older
handshake, repeats its cursor, leaves members out of schemas, and says why a call failed in structured content alone.

    odd_server.py SECONDS LOG: waits before it reads, and writes the method of each message that it read into LOG
"""

import json
import os
import sys
import time

SECONDS, LOG = float(sys.argv[1]), sys.argv[2]
TOOLS = [
    {"name": "bare", "inputSchema": {"type": "object"}},
    {"name": "tagged", "inputSchema": {"type": "object", "properties": {"tags": {"type": "array"}}}},
]


def result(method):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS, "nextCursor": "again"}
    if method == "tools/call":
        return {"content": [], "isError": True, "structuredContent": {"reason": "no such parcel"}}
    return {}


time.sleep(SECONDS)
for line in sys.stdin:
    message = json.loads(line)
    with open(LOG, "a", encoding="utf-8") as log:
        log.write("%d %s\n" % (os.getpid(), message.get("method")))
    if "id" in message and message["method"] in ("initialize", "tools/list", "tools/call"):
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"])}), flush=True)
