#!/usr/bin/env bash
# An agent of LangChain that is streamed runs a tool with the beginning of an argument if the model was cut by its limit of tokens:
# "/drafts/2026" is "/drafts". The same agent, not streamed, runs nothing and ends with an empty answer. Neither is an error.
#
# Seen with langchain 1.5.2, langchain-core 1.8.3, langchain-openai 1.7.4 and langgraph 1.2.24, beside openai-agents 0.24.0 and
# pydantic-ai-slim 2.68.0. Guess: arguments that end within a text are no JSON, so that the call is refused and the model informed,
# streamed or not. Behaviour: chunks are joined with a reader that closes open texts and brackets, so that a page may show
# arguments while they arrive; what it makes of the last chunk becomes the call. Without a stream the reader is strict; what it
# refuses goes to `invalid_tool_calls`, where the loop of the agent does not look: a message without calls is the answer, here "".
# The finish reason `length` is in the metadata of both and stops neither. `stream_mode="messages"` alone makes the model
# stream, so that a change of the page changes what tools do. Check `finish_reason` in a middleware before tools run.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langchain==1.5.2 langchain-core==1.8.3 langchain-openai==1.7.4 langgraph==1.2.24 \
  openai-agents==0.24.0 'pydantic-ai-slim[openai]==2.68.0'

cat >agents_of_three.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agents import Agent as OpenAIAgent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

QUESTION = "Remove the drafts of 2026."
CUT = '{"folder": "/drafts'
removed = []


class Model(BaseHTTPRequestHandler):
    """Answers the question with a call whose arguments are cut, and all else with "Done."."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_first = [message["role"] for message in asked["messages"]] == ["user"]
        call = {"id": "call-1", "type": "function", "function": {"name": "remove_pages", "arguments": CUT}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]} if is_first else {"role": "assistant", "content": "Done."}
        reason = "length" if is_first else "stop"
        base = {"id": "answer", "created": 1, "model": "model", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        if asked.get("stream"):
            if is_first:
                message["tool_calls"][0]["index"] = 0
            chunks = [{**base, "usage": None, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                      {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]
            lines = [json.dumps({**chunk, "object": "chat.completion.chunk"}) for chunk in chunks] + ["[DONE]"]
            self.send("text/event-stream", "".join(f"data: {line}\n\n" for line in lines))
        else:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self.send("application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice]}))

    def send(self, media_type, text):
        self.send_response(200)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/v1"
set_tracing_disabled(True)


def remove_pages(folder: str) -> str:
    """Removes the pages of a folder."""
    removed.append(folder)
    return "removed"


def langchain_agent():
    return create_agent(ChatOpenAI(model="model", base_url=URL, api_key="none", max_retries=0), tools=[remove_pages])


def by_langchain():
    return langchain_agent().invoke({"messages": [("user", QUESTION)]})["messages"][-1].content


def by_langchain_streamed():
    parts = langchain_agent().stream({"messages": [("user", QUESTION)]}, stream_mode="messages")
    return "".join(chunk.content for chunk, about in parts if about["langgraph_node"] == "model")


def openai_agent():
    model = OpenAIChatCompletionsModel("model", AsyncOpenAI(base_url=URL, api_key="none"))
    return OpenAIAgent(name="agent", model=model, tools=[function_tool(remove_pages)])


def by_openai_agents():
    return Runner.run_sync(openai_agent(), QUESTION).final_output


def by_openai_agents_streamed():
    async def run():
        running = Runner.run_streamed(openai_agent(), QUESTION)
        async for _ in running.stream_events():
            pass
        return running.final_output

    return asyncio.run(run())


def pydantic_agent():
    return PydanticAgent(OpenAIChatModel("model", provider=OpenAIProvider(base_url=URL, api_key="none")), tools=[remove_pages])


def by_pydantic_ai():
    return pydantic_agent().run_sync(QUESTION).output


def by_pydantic_ai_streamed():
    async def run():
        async with pydantic_agent().run_stream(QUESTION) as running:
            return await running.get_output()

    return asyncio.run(run())


for run in [by_langchain, by_langchain_streamed, by_openai_agents, by_openai_agents_streamed, by_pydantic_ai, by_pydantic_ai_streamed]:
    removed.clear()
    try:
        answer = repr(run())
    except Exception as error:
        answer = type(error).__name__
    print(f"{run.__name__[3:]}: removed {removed or 'nothing'}, answer {answer}")
PY
packages/bin/python agents_of_three.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
langchain: removed nothing, answer ''
langchain_streamed: removed ['/drafts'], answer 'Done.'
openai_agents: removed nothing, answer 'Done.'
openai_agents_streamed: removed nothing, answer 'Done.'
pydantic_ai: removed nothing, answer 'Done.'
pydantic_ai_streamed: removed nothing, answer 'Done.'
END
