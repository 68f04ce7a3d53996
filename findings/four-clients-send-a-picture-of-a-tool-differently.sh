#!/usr/bin/env bash
# What an agent's model sees of a picture that a tool returns depends on the client: base64 as text, nothing, a picture in the
# tool's message, or a picture in a message of the user. All four send it to the same endpoint of chat completions.
#
# Seen with ai 7.0.173 (@ai-sdk/openai-compatible 3.0.92), openai-agents 0.24.0, langchain-openai 1.7.4 and pydantic-ai-slim
# 2.66.0. Guess: a picture costs what a picture costs, some hundred tokens, or is refused. Behaviour: the AI SDK writes the list
# of parts as JSON in the tool's message, so 3 kB of PNG are thousands of tokens of text that no model sees as a picture, and
# they are paid again with each further call; the Agents SDK keeps the text beside the picture and drops the picture, without an
# error; LangChain sends a part that OpenAI's schema of a tool's message does not have; Pydantic AI adds a message of the user.
# Way out: return a text and an address, or use the protocol of responses, which has pictures in results.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

npm init -y >/dev/null
npm install --silent ai@7.0.173 @ai-sdk/openai-compatible@3.0.92 gpt-tokenizer@4.0.0 zod@4.6.7
python3 -m venv python
python/bin/pip install --quiet openai-agents==0.24.0 langchain-openai==1.7.4 pydantic-ai-slim[openai]==2.66.0 openai==3.57.0

python/bin/python - >picture.b64 <<'PY'
import base64
import random
import struct
import zlib

random.seed(7)
rows = b"".join(b"\0" + bytes(random.randrange(256) for _ in range(96)) for _ in range(32))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0))
png += chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
print(base64.b64encode(png).decode(), end="")
PY
cat >client.mjs <<'JS'
import fs from 'node:fs';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

const picture = fs.readFileSync('picture.b64', 'utf8');
const bodies = [];
const answer = (message, reason) => Response.json({
  id: 'c', object: 'chat.completion', created: 0, model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
});
const call = { id: 'call_1', type: 'function', function: { name: 'screenshot', arguments: '{}' } };
const provider = createOpenAICompatible({
  name: 'endpoint', baseURL: 'http://127.0.0.1/v1',
  fetch: async (_, request) => {
    bodies.push(request.body);
    if (bodies.length > 1) return answer({ content: 'fine' }, 'stop');
    return answer({ content: null, tool_calls: [call] }, 'tool_calls');
  },
});
const screenshot = tool({
  inputSchema: jsonSchema({ type: 'object', properties: {} }),
  execute: () => picture,
  toModelOutput: ({ output }) => ({
    type: 'content',
    value: [{ type: 'text', text: 'the screen' }, { type: 'file', mediaType: 'image/png', data: { type: 'data', data: output } }],
  }),
});
await generateText({ model: provider('m'), prompt: 'Look.', tools: { screenshot }, stopWhen: stepCountIs(2) });
fs.writeFileSync('ai-sdk.json', bodies.at(-1));
JS
cat >client.py <<'PY'
import base64
import http.server
import json
import threading

import agents
import openai
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

with open("picture.b64") as file:
    PICTURE = file.read()
CALL = {"id": "call_1", "type": "function", "function": {"name": "screenshot", "arguments": "{}"}}
bodies = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
        calls = all(message["role"] != "tool" for message in json.loads(bodies[-1])["messages"])
        message = {"role": "assistant", **({"content": None, "tool_calls": [CALL]} if calls else {"content": "fine"})}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
address = f"data:image/png;base64,{PICTURE}"


def keep(name):
    with open(f"{name}.json", "w") as file:
        file.write(bodies[-1])


@agents.function_tool
def screenshot():
    return [agents.ToolOutputText(text="the screen"), agents.ToolOutputImage(image_url=address)]


agents.set_tracing_disabled(True)
model = agents.OpenAIChatCompletionsModel("m", openai.AsyncOpenAI(base_url=url, api_key="key"))
agents.Runner.run_sync(agents.Agent(name="a", model=model, tools=[screenshot]), "Look.")
keep("openai-agents")

result = [{"type": "text", "text": "the screen"}, {"type": "image", "base64": PICTURE, "mime_type": "image/png"}]
ChatOpenAI(model="m", base_url=url, api_key="key").invoke([
    HumanMessage("Look."), AIMessage("", tool_calls=[{"name": "screenshot", "args": {}, "id": "call_1"}]),
    ToolMessage(content=result, tool_call_id="call_1"),
])
keep("langchain")

agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="key")))


@agent.tool_plain(name="screenshot")
def look():
    return ["the screen", BinaryContent(base64.b64decode(PICTURE), media_type="image/png")]


agent.run_sync("Look.")
keep("pydantic-ai")
PY
cat >show.mjs <<'JS'
import fs from 'node:fs';
import { encode } from 'gpt-tokenizer';

const picture = fs.readFileSync('picture.b64', 'utf8');
for (const name of ['ai-sdk', 'openai-agents', 'langchain', 'pydantic-ai']) {
  const after = JSON.parse(fs.readFileSync(`${name}.json`, 'utf8')).messages.slice(2);
  const seen = after.map(({ role, content }) => {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const kinds = parts.map(part => {
      if (part.type !== 'text') return part.type;
      return part.text.includes(picture) ? `${encode(part.text).length > 2000 ? 'over 2000' : 'few'} tokens of text` : 'text';
    });
    return `${role}: ${kinds.join(', ')}`;
  });
  console.log(`${name}: ${seen.join('; ')}`);
}
JS
node client.mjs 2>errors || { cat errors >&2; exit 1; }
python/bin/python client.py 2>errors || { cat errors >&2; exit 1; }
node show.mjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
ai-sdk: tool: over 2000 tokens of text
openai-agents: tool: text
langchain: tool: text, image_url
pydantic-ai: tool: text; user: text, image_url, text
END
