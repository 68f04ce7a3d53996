#!/usr/bin/env bash
# Of one MCP tool, each client tells the LM other required arguments: DSPy those without a default, the Agents SDK with strict
# schemas all, and only the rest those that the tool requires.
#
# Seen with dspy 3.4.1, openai-agents 0.24.0 and mcp 2.3.0 (PyPI). Guess: a function of OpenAI's protocol has a JSON schema, as an
# MCP tool has, so a client passes on `required`. Behaviour: DSPy drops it and requires each argument whose schema has no
# `default`, so that a filter that is optional has to be given, while an argument that the tool requires may be left out if
# its schema has a default. `convert_schemas_to_strict` of the Agents SDK requires all, and allows no null. A model with
# constrained decoding has to invent an author and a limit for every search, and gets fewer books than there are.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1 mcp==2.3.0 openai==3.57.0 openai-agents==0.24.0

cat >server.py <<'PY'
import json
import sys

SCHEMA = {"type": "object", "required": ["query", "sort"],
          "properties": {"query": {"type": "string"}, "author": {"type": "string"}, "limit": {"type": "integer", "minimum": 1},
                         "sort": {"type": "string", "default": "date"}}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "books", "version": "1"}}
    elif request["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "search", "description": "Finds books.", "inputSchema": SCHEMA}]}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
PY
cat >clients.py <<'PY'
import asyncio
import http.server
import json
import logging
import sys
import threading

import dspy
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from openai import AsyncOpenAI

logging.disable(logging.CRITICAL)
set_tracing_disabled(True)
COMMAND = [sys.executable, "server.py"]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.tools = json.loads(self.rfile.read(int(self.headers["content-length"])))["tools"]
        message = {"role": "assistant", "content": "done"}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m",
                           "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=model.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{model.server_port}/v1"


def show(client, schema):
    print(f"{client}: {schema['required']}, author: {schema['properties']['author']}")


async def main():
    async with stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            tool = (await session.list_tools()).tools[0]
            show("the tool", tool.input_schema)
            sent = dspy.Tool.from_mcp_tool(session, tool).format_as_litellm_function_call()["function"]["parameters"]
            show("dspy", sent)
    async with MCPServerStdio({"command": COMMAND[0], "args": COMMAND[1:]}) as server:
        client = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=url, api_key="key"))
        for strict in [False, True]:
            config = {"convert_schemas_to_strict": strict}
            await Runner.run(Agent(name="agent", mcp_servers=[server], model=client, mcp_config=config), "Find it.")
            show("openai-agents, strict" if strict else "openai-agents", model.tools[0]["function"]["parameters"])


asyncio.run(main())
PY
packages/bin/python clients.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
the tool: ['query', 'sort'], author: {'type': 'string'}
dspy: ['query', 'author', 'limit'], author: {'type': 'string'}
openai-agents: ['query', 'sort'], author: {'type': 'string'}
openai-agents, strict: ['query', 'author', 'limit', 'sort'], author: {'type': 'string'}
END
