#!/usr/bin/env bash
# A stream that states its usage in more than one chunk costs a multiple in Pydantic AI and LangChain, which add the statements
# up. The Agents SDK, LiteLLM and the AI SDK take the last one.
#
# Seen with pydantic-ai-slim 2.66.0, langchain-openai 1.7.4 (langchain-core 1.8.3), openai-agents 0.24.0, litellm 1.110.2, ai
# 7.0.173 (@ai-sdk/openai-compatible 3.0.92). Guess: usage is the state of the counts, so its last statement holds. Behaviour:
# an endpoint that counts in every chunk, as vLLM does with `continuous_usage_stats`, or in the chunk that ends the answer and
# again in one without choices, is charged that often: tokens, cached tokens, and what limits and prices are made of. The same
# call without a stream is right. Way out: `openai_continuous_usage_stats=True` in Pydantic AI, which asks for it, too;
# LangChain has none.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pydantic-ai-slim[openai]==2.66.0 langchain-openai==1.7.4 langchain-core==1.8.3 \
  openai-agents==0.24.0 openai==3.57.0
python3 -m venv litellm
litellm/bin/pip install --quiet litellm==1.110.2
npm init -y >/dev/null
npm install --silent ai@7.0.173 @ai-sdk/openai-compatible@3.0.92

cat >endpoint.py <<'PY'
import http.server
import json
import threading

WORDS = ["one", " two", " three"]
kind = None


def counts(output):
    return {"prompt_tokens": 100, "completion_tokens": output, "total_tokens": 100 + output,
            "prompt_tokens_details": {"cached_tokens": 40}}


def chunk(choices, usage=None):
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": choices}
    return {**body, "usage": usage} if usage else body


def chunks():
    for at, word in enumerate(WORDS):
        delta = {"role": "assistant", "content": word}
        yield chunk([{"index": 0, "delta": delta, "finish_reason": None}], counts(at + 1) if kind == "every chunk" else None)
    yield chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}], None if kind == "once" else counts(len(WORDS)))
    yield chunk([], counts(len(WORDS)))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = ("".join(f"data: {json.dumps(one)}\n\n" for one in chunks()) + "data: [DONE]\n\n").encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
PY
cat >client.py <<'PY'
import asyncio
import subprocess

import agents
import endpoint
import openai
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

url = endpoint.start()
agents.set_tracing_disabled(True)


async def pydantic_ai():
    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="key")))
    async with agent.run_stream("Count.") as stream:
        async for _ in stream.stream_text():
            pass
        return stream.usage.input_tokens, stream.usage.output_tokens, stream.usage.cache_read_tokens


async def langchain():
    whole = None
    async for piece in ChatOpenAI(model="m", base_url=url, api_key="key", stream_usage=True).astream("Count."):
        whole = piece if whole is None else whole + piece
    usage = whole.usage_metadata
    return usage["input_tokens"], usage["output_tokens"], usage["input_token_details"]["cache_read"]


async def openai_agents():
    model = agents.OpenAIChatCompletionsModel("m", openai.AsyncOpenAI(base_url=url, api_key="key"))
    stream = agents.Runner.run_streamed(agents.Agent(name="a", model=model), "Count.")
    async for _ in stream.stream_events():
        pass
    usage = stream.context_wrapper.usage
    return usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens


async def main():
    for kind in ["once", "at the end and once more", "every chunk"]:
        endpoint.kind = kind
        print(f"usage stated {kind}: input, output, cached tokens")
        for ask in [pydantic_ai, langchain, openai_agents]:
            print(f"  {ask.__name__}:", *await ask())
        for name, command in [("litellm", ["litellm/bin/python", "litellm_client.py"]), ("ai_sdk", ["node", "client.mjs"])]:
            made = await asyncio.to_thread(subprocess.run, [*command, url], check=True, capture_output=True, text=True)
            print(f"  {name}:", made.stdout.strip())


asyncio.run(main())
PY
cat >litellm_client.py <<'PY'
import sys

import litellm

litellm.suppress_debug_info = True
messages = [{"role": "user", "content": "Count."}]
stream = litellm.completion("openai/m", messages=messages, api_base=sys.argv[1], api_key="key", stream=True,
                            stream_options={"include_usage": True})
usage = litellm.stream_chunk_builder(list(stream), messages=messages).usage
print(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens)
PY
cat >client.mjs <<'JS'
import { streamText } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

const provider = createOpenAICompatible({ name: 'endpoint', baseURL: process.argv[2], includeUsage: true });
const stream = streamText({ model: provider('m'), prompt: 'Count.' });
for await (const _ of stream.textStream);
const usage = await stream.usage;
console.log(usage.inputTokens, usage.outputTokens, usage.inputTokenDetails.cacheReadTokens);
JS
LITELLM_LOCAL_MODEL_COST_MAP=True python/bin/python client.py 2>errors >seen || { cat errors >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
usage stated once: input, output, cached tokens
  pydantic_ai: 100 3 40
  langchain: 100 3 40
  openai_agents: 100 3 40
  litellm: 100 3 40
  ai_sdk: 100 3 40
usage stated at the end and once more: input, output, cached tokens
  pydantic_ai: 200 6 80
  langchain: 200 6 80
  openai_agents: 100 3 40
  litellm: 100 3 40
  ai_sdk: 100 3 40
usage stated every chunk: input, output, cached tokens
  pydantic_ai: 500 12 200
  langchain: 500 12 200
  openai_agents: 100 3 40
  litellm: 100 3 40
  ai_sdk: 100 3 40
END
