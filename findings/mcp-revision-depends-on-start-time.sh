#!/usr/bin/env bash
# The official Python client of MCP agrees with an official npm server on another revision if the server takes longer than ten
# seconds to start, and the same tool has another output schema and another shape of structured content then.
#
# Seen with mcp 2.3.0 (Python) and @modelcontextprotocol/server 2.4.0 (npm), over stdio. Guess: both support 2026-07-28, so they
# speak it, and a tool that answers a list answers it always. Behaviour: a server that starts at once speaks 2026-07-28 and
# the structured content is the list; one that starts after 12 s speaks 2025-11-25, and the list is the member `result` of an
# object. Neither side says so: a client that remembers a schema, or a cached `npx` package, changes what callers read.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet mcp==2.3.0
npm init -y >/dev/null
npm install --silent @modelcontextprotocol/server@2.4.0 zod@4

cat >server.mjs <<'JS'
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'parcels', version: '1.0.0' });
  server.registerTool('list', { outputSchema: z.array(z.string()) },
    async () => ({ content: [], structuredContent: ['p1', 'p2'] }));
  return server;
});
JS
cat >client.py <<'PY'
import asyncio
import sys

from mcp import Client, StdioServerParameters


async def main():
    server = StdioServerParameters(command="sh", args=["-c", f"sleep {sys.argv[1]}; exec node server.mjs"])
    async with Client(server) as client:
        [tool] = (await client.list_tools()).tools
        found = await client.call_tool("list", {})
        print(client.protocol_version, tool.output_schema["type"], found.structured_content)


asyncio.run(main())
PY
for delay in 0 12; do python/bin/python client.py "$delay" 2>/dev/null; done >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed, or node takes ten seconds to start here" >&2; exit 1; }
2026-07-28 array ['p1', 'p2']
2025-11-25 object {'result': ['p1', 'p2']}
END
