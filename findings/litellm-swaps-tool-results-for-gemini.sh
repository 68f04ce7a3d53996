#!/usr/bin/env bash
# Two calls of one tool get each other's result if their results are sent to Gemini 2.5 through LiteLLM in the order in which
# they were ready: the ids are left out, so the order alone pairs them. Pydantic AI sends the ids.
#
# Seen with litellm 1.110.2 and pydantic-ai-slim 2.66.0 (google-genai 3.6.1). Guess: `tool_call_id` says which call a result
# answers, as OpenAI's protocol demands, in whatever order the results come. Behaviour: LiteLLM writes ids for Gemini 3; for 2.5
# neither calls nor results have one, and the results keep the order of the messages. Both have the same name, so by order, Rome
# gets Oslo's snow. Anthropic through the same LiteLLM has the ids. Way out: sort the results by their calls.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv litellm
litellm/bin/pip install --quiet litellm==1.110.2
python3 -m venv pydantic
pydantic/bin/pip install --quiet pydantic-ai-slim[google]==2.66.0 google-genai==3.6.1

cat >endpoint.py <<'PY'
import http.server
import json
import threading

GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "fine"}]}, "finishReason": "STOP", "index": 0}],
          "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1, "totalTokenCount": 10}}
ANTHROPIC = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "fine"}],
             "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
bodies = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps(ANTHROPIC if self.path.endswith("/messages") else GEMINI).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"


def show(name):
    body = bodies[-1]
    if "messages" in body:
        calls = [(part["id"], part["input"]["city"]) for part in body["messages"][1]["content"]]
        results = [(part["tool_use_id"], part["content"]) for part in body["messages"][2]["content"]]
    else:
        called, answered = body["contents"][1]["parts"], body["contents"][2]["parts"]
        calls = [part.get("functionCall") or part["function_call"] for part in called]
        calls = [(call.get("id"), call["args"]["city"]) for call in calls]
        results = [part.get("functionResponse") or part["function_response"] for part in answered]
        results = [(result.get("id"), *result["response"].values()) for result in results]
    print(f"{name}: calls {calls}, results {results}")
PY
cat >litellm_client.py <<'PY'
import json

import litellm

from endpoint import show, url

CALLS = [{"id": id, "type": "function", "function": {"name": "weather", "arguments": json.dumps({"city": city})}}
         for id, city in [("c1", "Rome"), ("c2", "Oslo")]]
MESSAGES = [{"role": "user", "content": "How is it in Rome and in Oslo?"},
            {"role": "assistant", "content": None, "tool_calls": CALLS},
            {"role": "tool", "tool_call_id": "c2", "content": "snow"},
            {"role": "tool", "tool_call_id": "c1", "content": "sun"}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
for model in ["gemini/gemini-2.5-pro", "gemini/gemini-3-pro-preview", "anthropic/claude-sonnet-4-5"]:
    litellm.completion(model, messages=MESSAGES, tools=[TOOL], api_base=url, api_key="key")
    show(f"litellm, {model}")
PY
cat >pydantic_client.py <<'PY'
from endpoint import show, url
from pydantic_ai.direct import model_request_sync
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

model = GoogleModel("gemini-2.5-pro", provider=GoogleProvider(api_key="key", base_url=url))
model_request_sync(model, [
    ModelRequest([UserPromptPart("How is it in Rome and in Oslo?")]),
    ModelResponse([ToolCallPart("weather", {"city": "Rome"}, "c1"), ToolCallPart("weather", {"city": "Oslo"}, "c2")]),
    ModelRequest([ToolReturnPart("weather", "snow", "c2"), ToolReturnPart("weather", "sun", "c1")]),
])
show("pydantic-ai, gemini-2.5-pro")
PY
LITELLM_LOCAL_MODEL_COST_MAP=True litellm/bin/python litellm_client.py >seen
pydantic/bin/python pydantic_client.py >>seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
litellm, gemini/gemini-2.5-pro: calls [(None, 'Rome'), (None, 'Oslo')], results [(None, 'snow'), (None, 'sun')]
litellm, gemini/gemini-3-pro-preview: calls [('c1', 'Rome'), ('c2', 'Oslo')], results [('c2', 'snow'), ('c1', 'sun')]
litellm, anthropic/claude-sonnet-4-5: calls [('c1', 'Rome'), ('c2', 'Oslo')], results [('c2', 'snow'), ('c1', 'sun')]
pydantic-ai, gemini-2.5-pro: calls [('c1', 'Rome'), ('c2', 'Oslo')], results [('c2', 'snow'), ('c1', 'sun')]
END
