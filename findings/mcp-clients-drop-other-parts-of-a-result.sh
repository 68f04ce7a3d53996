#!/usr/bin/env bash
# Of one result of an MCP tool, the LM sees other parts with each client: DSPy drops the attached file, Pydantic AI the notes
# beside structured content, and the Agents SDK neither, but it shows the file as a JSON object.
#
# Seen with dspy 3.4.1, openai-agents 0.24.0, pydantic-ai-slim 2.68.0 and mcp 2.3.0 (PyPI). Guess: what a server returns for the
# model reaches the model, as the specification lists the parts of `content`. Behaviour: DSPy passes on texts only, and other
# parts only if there is no text, so "The report:" arrives without the report. Pydantic AI replaces all parts by the structured
# content, so a warning in a second text is lost. The Agents SDK passes on all parts, a file as the text of a JSON object.
# `result_mode="structured"` of DSPy has the loss of Pydantic AI. Nothing is logged: the LM answers as if there were no
# report and no warning. A server reaches all of them with one text that says everything, also within the structured content.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet dspy==3.4.1 mcp==2.3.0 openai==3.57.0 openai-agents==0.24.0 pydantic-ai-slim[mcp]==2.68.0

cat >server.py <<'PY'
import json
import sys

OPEN = {"type": "object", "properties": {}}
STOCK = {"copies": 3}
FILE = {"uri": "file:///sold.csv", "mimeType": "text/csv", "text": "2025,7"}
RESULTS = {
    "stock": {"content": [{"type": "text", "text": json.dumps(STOCK)}, {"type": "text", "text": "Two of them are reserved."}],
              "structuredContent": STOCK},
    "report": {"content": [{"type": "text", "text": "The report:"}, {"type": "resource", "resource": FILE}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "books", "version": "1"}}
    elif request["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": name, "description": name, "inputSchema": OPEN} for name in RESULTS]}
    elif request["method"] == "tools/call":
        answer["result"] = RESULTS[request["params"]["name"]]
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
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.mcp import MCPToolset, StdioTransport
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

logging.disable(logging.CRITICAL)
set_tracing_disabled(True)
NAMES = ["stock", "report"]
COMMAND = [sys.executable, "server.py"]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        last = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"][-1]
        if last["role"] == "tool":
            self.server.seen = last["content"]
            message, reason = {"role": "assistant", "content": "done"}, "stop"
        else:
            call = {"id": "c", "type": "function", "function": {"name": last["content"], "arguments": "{}"}}
            message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m",
                           "choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode()
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


def show(client, name, seen):
    text = json.dumps(seen)
    marks = {"stock": {"copies": "copies", "warning": "reserved"}, "report": {"text": "The report:", "file": "2025,7"}}[name]
    states = {part: "seen" if mark in text else "lost" for part, mark in marks.items()}
    if states.get("file") == "seen" and "mime_type" in text:
        states["file"] = "seen as a JSON object"
    print(f"{client}, {name}: {states}")


async def with_dspy():
    async with stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            listed = (await session.list_tools()).tools
            for mode in ["text", "structured"]:
                for tool in listed:
                    made = dspy.Tool.from_mcp_tool(session, tool, result_mode=mode)
                    show(f"dspy, {mode}", tool.name, await made.acall())


async def with_agents():
    async with MCPServerStdio({"command": COMMAND[0], "args": COMMAND[1:]}) as server:
        client = OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=url, api_key="key"))
        for name in NAMES:
            await Runner.run(Agent(name="agent", mcp_servers=[server], model=client), name)
            show("openai-agents", name, model.seen)


async def with_pydantic_ai():
    tools = MCPToolset(StdioTransport(command=COMMAND[0], args=COMMAND[1:]))
    client = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="key"))
    agent = PydanticAgent(client, toolsets=[tools])
    async with agent:
        for name in NAMES:
            await agent.run(name)
            show("pydantic-ai", name, model.seen)


async def main():
    await with_dspy()
    await with_agents()
    await with_pydantic_ai()


asyncio.run(main())
PY
packages/bin/python clients.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
dspy, text, stock: {'copies': 'seen', 'warning': 'seen'}
dspy, text, report: {'text': 'seen', 'file': 'lost'}
dspy, structured, stock: {'copies': 'seen', 'warning': 'lost'}
dspy, structured, report: {'text': 'seen', 'file': 'lost'}
openai-agents, stock: {'copies': 'seen', 'warning': 'seen'}
openai-agents, report: {'text': 'seen', 'file': 'seen as a JSON object'}
pydantic-ai, stock: {'copies': 'seen', 'warning': 'lost'}
pydantic-ai, report: {'text': 'seen', 'file': 'seen'}
END
