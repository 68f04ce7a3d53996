#!/usr/bin/env bash
# The LM no longer sees why a tool of a Python MCP server failed: the text of its exception is left out.
#
# Seen with mcp 1.30.0 and 2.3.0. Guess: the text of an exception is the text of the failed result, so that the LM can repair
# its arguments, as in 1.x. Behaviour: 2.x answers `Error executing tool NAME` for every exception but its own `ToolError`. An
# agent that corrected itself after `no parcel 7` repeats the call after the update.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

for version in 1.30.0 2.3.0; do
  python3 -m venv "$version"
  "$version/bin/pip" install --quiet "mcp==$version"
done

cat >tools.py <<'PY'
def find(number: int) -> str:
    raise ValueError(f"no parcel {number}; parcels have the numbers 1 to 5")
PY
cat >old.py <<'PY'
import asyncio

from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session as connected
from tools import find


async def main():
    server = FastMCP("parcels")
    server.tool()(find)
    async with connected(server._mcp_server) as client:
        found = await client.call_tool("find", {"number": 7})
        print(found.isError, found.content[0].text)


asyncio.run(main())
PY
cat >new.py <<'PY'
import asyncio

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from tools import find


def search(number: int) -> str:
    raise ToolError(f"no parcel {number}")


async def main():
    server = MCPServer("parcels")
    server.tool()(find)
    server.tool()(search)
    async with Client(server) as client:
        for name in ["find", "search"]:
            found = await client.call_tool(name, {"number": 7})
            print(found.is_error, found.content[0].text)


asyncio.run(main())
PY
{ 1.30.0/bin/python old.py; 2.3.0/bin/python new.py; } 2>/dev/null >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
True Error executing tool find: no parcel 7; parcels have the numbers 1 to 5
True Error executing tool find
True Error executing tool search: no parcel 7
END
