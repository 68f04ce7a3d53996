"""Graphs as tools of the official `mcp` package, over HTTP and over standard input and output, in the protocol with a
handshake and in the one without: listed, called with progress, refused, cancelled; resources read."""

import asyncio
import json
import os

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import graphs

SLOW = {"ticket": "wait 60 s before you answer"}


def over_http():
    headers = {"Authorization": f"Bearer {graphs.KEY}"}
    http = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(60))
    return streamable_http_client(graphs.URL + "/mcp", http_client=http)


def over_stdio():
    env = {"DSRS_URL": graphs.URL, "DSRS_API_KEY": graphs.KEY}
    return StdioServerParameters(command=os.environ["DSRS_SERVER"], args=["mcp"], env=env)


async def use(client):
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["reply_to_ticket"], tools
    assert tools[0].description == "Answers a customer", tools
    assert tools[0].input_schema["required"] == ["ticket"], tools
    progress = []

    async def note(done, total, message):
        progress.append((done, total, message))

    result = await client.call_tool("reply_to_ticket", {"ticket": "Where is it?"}, progress_callback=note)
    assert not result.is_error and set(result.structured_content) == {"answer", "mood"}, result
    assert progress[-1][0] == 2 and progress[-1][1] == 2, progress
    run = result.meta["run_id"]

    refused = await client.call_tool("reply_to_ticket", {"tikcet": "?"})
    assert refused.is_error and "/arguments/ticket" in refused.content[0].text, refused
    try:
        await client.call_tool("nothing", {})
        raise SystemExit("a tool that does not exist answered")
    except MCPError as error:
        assert "nothing" in str(error), error

    resources = (await client.list_resources()).resources
    assert [str(resource.uri) for resource in resources] == ["dsrs://graphs/reply/state"], resources
    templates = (await client.list_resource_templates()).resource_templates
    assert len(templates) == 2, templates
    for uri, member in [("dsrs://graphs/reply/state", "predictors"), (f"dsrs://runs/{run}", "outputs")]:
        read = await client.read_resource(uri)
        assert member in json.loads(read.contents[0].text), read

    # A client that no longer waits cancels its run.
    before = len(graphs.runs("cancelled"))
    call = asyncio.create_task(client.call_tool("reply_to_ticket", SLOW))
    await asyncio.sleep(1.5)
    call.cancel()
    try:
        await call
        raise SystemExit("a cancelled call answered")
    except asyncio.CancelledError:
        pass
    await asyncio.to_thread(graphs.until, lambda: len(graphs.runs("cancelled")) > before)
    # And the connection is still good.
    assert not (await client.call_tool("reply_to_ticket", {"ticket": "?"})).is_error


async def main():
    for transport in (over_http, over_stdio):
        for mode in ("legacy", "auto"):
            async with Client(transport(), mode=mode) as client:
                await use(client)
                print(f"ok: the mcp package: {transport.__name__}, protocol {client.protocol_version}")


asyncio.run(main())
