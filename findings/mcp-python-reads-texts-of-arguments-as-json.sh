#!/usr/bin/env bash
# A tool of the official Python server of MCP refuses a text that is JSON, and gets `None` for the text "null", if its argument is
# `str | None`. With `str` it gets the text.
#
# Seen with mcp 2.3.0. Guess: a text arrives as that text wherever the schema of the tool allows a text. Behaviour: because some
# clients send lists and objects as texts, each text is read as JSON first unless the annotation is `str` itself. If that gives
# an object, a list or null, it replaces the text, also where the type has no place for it: a validation error follows. With `Any`
# the tool gets a dict. A tool with an optional content thus writes every file but `package.json`; the error says that a string
# was expected and a dict given, to a model that sent a string, so it repeats the call. Numbers, `true` and texts in quotation
# marks stay texts, so that a test with these shows nothing. Declare `str` with "" as the default.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet mcp==2.3.0

cat >server.py <<'PY'
from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

server = MCPServer("files")


def show(value):
    return f"{type(value).__name__} {value!r}"


@server.tool()
def exact(content: str = "") -> str:
    return show(content)


@server.tool()
def described(content: Annotated[str, Field(description="The text.")] = "") -> str:
    return show(content)


@server.tool()
def optional(content: str | None = None) -> str:
    return show(content)


@server.tool()
def lines(content: list[str] | str) -> str:
    return show(content)


@server.tool()
def anything(content: Any) -> str:
    return show(content)


server.run()
PY
cat >client.py <<'PY'
import asyncio
import re
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TEXTS = ["hello", "12", "true", "null", '["a"]', '{"name": "shop"}']


async def main():
    async with stdio_client(StdioServerParameters(command=sys.executable, args=["server.py"])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            for tool in ["exact", "described", "optional", "lines", "anything"]:
                print(f"{tool}:")
                for text in TEXTS:
                    result = await session.call_tool(tool, {"content": text})
                    answer = result.content[0].text
                    if result.is_error:
                        should, given = re.search(r"(Input should be [a-z ]+) .*(input_type=\w+)", answer).groups()
                        answer = f"refused: {should}, {given}"
                    print(f"  {text} -> {answer}")


asyncio.run(main())
PY
packages/bin/python client.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
exact:
  hello -> str 'hello'
  12 -> str '12'
  true -> str 'true'
  null -> str 'null'
  ["a"] -> str '["a"]'
  {"name": "shop"} -> str '{"name": "shop"}'
described:
  hello -> str 'hello'
  12 -> str '12'
  true -> str 'true'
  null -> str 'null'
  ["a"] -> str '["a"]'
  {"name": "shop"} -> str '{"name": "shop"}'
optional:
  hello -> str 'hello'
  12 -> str '12'
  true -> str 'true'
  null -> NoneType None
  ["a"] -> refused: Input should be a valid string, input_type=list
  {"name": "shop"} -> refused: Input should be a valid string, input_type=dict
lines:
  hello -> str 'hello'
  12 -> str '12'
  true -> str 'true'
  null -> refused: Input should be a valid list, input_type=NoneType
  ["a"] -> list ['a']
  {"name": "shop"} -> refused: Input should be a valid list, input_type=dict
anything:
  hello -> str 'hello'
  12 -> str '12'
  true -> str 'true'
  null -> NoneType None
  ["a"] -> list ['a']
  {"name": "shop"} -> dict {'name': 'shop'}
END
