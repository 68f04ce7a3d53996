#!/usr/bin/env bash
# Arguments of a tool that are almost JSON make LlamaIndex and Strands run the tool without any: "remove the drafts of the last
# thirty days" removes all pages, if the tool has defaults. smolagents passes the whole text as the first argument.
#
# Seen with llama-index-core 0.14.25 (llama-index-llms-openai-like 0.8.1), strands-agents 1.62.0 and smolagents 1.26.0, beside
# pydantic-ai-slim 2.68.0. Guess: a call whose arguments cannot be read is not made; the model sees the problem, and tries again. Behaviour:
# the two put an empty object in the place of what they cannot read, and the tool runs if nothing is required. smolagents leaves
# the text as it is, and calls the tool with one positional argument. The model sees "removed", so that its answer says that
# it did what was asked. Of a cut text, LlamaIndex runs the tool with `None` for the value that was cut. Models
# with few parameters write 3O for 30 or a single quotation mark now and then; a tool whose arguments are all optional
# is never refused. Give such a tool a required argument, and check `None`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for name in llama_index strands smolagents pydantic_ai; do
  python3 -m venv --without-pip "$name"
done
install() { python3 -m pip --python "$1/bin/python" install --quiet --no-compile "${@:2}"; }
install llama_index llama-index-core==0.14.25 llama-index-llms-openai-like==0.8.1
install strands 'strands-agents[openai]==1.62.0'
install smolagents 'smolagents[openai]==1.26.0'
install pydantic_ai 'pydantic-ai-slim[openai]==2.68.0'

cat >model.py <<'PY'
"""A model that answers the question with a call whose arguments are almost JSON, and all else with "Done."."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUESTION = "Remove the drafts of the last thirty days."
# The letter O instead of a zero.
ARGUMENTS = '{"folder": "/drafts", "days": 3O}'
removed = []


def remove_pages(folder: str = "/", days: int = 0) -> str:
    """Removes the pages of a folder.

    Args:
        folder: the folder
        days: the age of the pages
    """
    removed.append((folder, days))
    return "removed"


class Model(BaseHTTPRequestHandler):
    count = 0

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Model.count += 1
        call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": "remove_pages", "arguments": ARGUMENTS}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        if Model.count > 1:
            message = {"role": "assistant", "content": "Done."}
        reason = "stop" if Model.count > 1 else "tool_calls"
        base = {"id": "answer", "created": 1, "model": "model", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        if asked.get("stream"):
            chunks = [{**base, "usage": None, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                      {**base, "usage": None, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}, {**base, "choices": []}]
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
PY

cat >by_llama_index.py <<'PY'
import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from model import QUESTION, URL, remove_pages, removed


async def run():
    llm = OpenAILike(model="model", api_base=URL, api_key="none", is_chat_model=True, is_function_calling_model=True)
    return await FunctionAgent(tools=[remove_pages], llm=llm, streaming=False).run(QUESTION)


print("llama-index ran", removed if asyncio.run(run()) and removed else "nothing")
PY
cat >by_strands.py <<'PY'
from model import QUESTION, URL, remove_pages, removed
from strands import Agent, tool
from strands.models.openai import OpenAIModel

model = OpenAIModel(client_args={"base_url": URL, "api_key": "none"}, model_id="model")
Agent(model=model, tools=[tool(remove_pages)], callback_handler=None)(QUESTION)
print("strands ran", removed or "nothing")
PY
cat >by_smolagents.py <<'PY'
from model import QUESTION, URL, remove_pages, removed
from smolagents import OpenAIModel, ToolCallingAgent, tool

model = OpenAIModel("model", api_base=URL, api_key="none")
ToolCallingAgent(tools=[tool(remove_pages)], model=model, max_steps=1, verbosity_level=0).run(QUESTION)
print("smolagents ran", removed or "nothing")
PY
cat >by_pydantic_ai.py <<'PY'
from model import QUESTION, URL, remove_pages, removed
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

Agent(OpenAIChatModel("model", provider=OpenAIProvider(base_url=URL, api_key="none")), tools=[remove_pages]).run_sync(QUESTION)
print("pydantic-ai ran", removed or "nothing")
PY
for name in llama_index strands smolagents pydantic_ai; do
  "$name/bin/python" "by_$name.py" 2>log | grep " ran " >>seen || { tail -5 log >&2; exit 1; }
done
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
llama-index ran [('/', 0)]
strands ran [('/', 0)]
smolagents ran [('{"folder": "/drafts", "days": 3O}', 0)]
pydantic-ai ran nothing
END
