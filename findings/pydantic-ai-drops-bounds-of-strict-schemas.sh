#!/usr/bin/env bash
# One bound on the length of a string makes Pydantic AI send a schema that is not strict, and where the caller demands a strict
# one, the schema loses the bound. The client of OpenAI sends the same model strict and with the bound.
#
# Seen with pydantic-ai-slim 2.31.0, openai 3.57.0 and pydantic 2.14.4. Guess: a bound of a field narrows that field, whichever
# client sends the model. Behaviour: `NativeOutput(Model)` sends `strict: true` until any field has `max_length`, then
# `strict: false` for the whole model; `NativeOutput(Model, strict=True)` moves `maxLength` to the description and leaves
# `minimum` and `maximum` alone. `chat.completions.parse` sends all of them and `strict: true`. A server that decodes with a
# grammar therefore constrains nothing, or not the length, after a change that was meant to make answers stricter.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet pydantic-ai-slim[openai]==2.31.0 openai==3.57.0 pydantic==2.14.4

cat >client.py <<'PY'
import http.server
import json
import threading

from openai import OpenAI
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

MESSAGE = {"role": "assistant", "content": '{"title": "good", "stars": 4}'}
ANSWER = {"id": "c", "object": "chat.completion", "created": 0, "model": "gpt-4o",
          "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}
requests = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Plain(BaseModel):
    title: str
    stars: int = Field(ge=1, le=5)


class Bounded(BaseModel):
    title: str = Field(max_length=20)
    stars: int = Field(ge=1, le=5)


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
client = OpenAI(base_url=url, api_key="key")
model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=url, api_key="key"))


def show(name):
    sent = requests[-1]["response_format"]["json_schema"]
    fields = {name: {key: value for key, value in field.items() if key not in ("type", "title")}
              for name, field in sent["schema"]["properties"].items()}
    print(name, "strict:", sent["strict"], fields)


client.chat.completions.parse(model="gpt-4o", messages=[{"role": "user", "content": "Rate it."}], response_format=Bounded)
show("openai, bounded")
for name, output in [("plain", NativeOutput(Plain)), ("bounded", NativeOutput(Bounded)),
                     ("bounded, strict demanded", NativeOutput(Bounded, strict=True))]:
    Agent(model, output_type=output).run_sync("Rate it.")
    show(f"pydantic-ai, {name}")
PY
python/bin/python client.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
openai, bounded strict: True {'title': {'maxLength': 20}, 'stars': {'maximum': 5, 'minimum': 1}}
pydantic-ai, plain strict: True {'title': {}, 'stars': {'maximum': 5, 'minimum': 1}}
pydantic-ai, bounded strict: False {'title': {'maxLength': 20}, 'stars': {'maximum': 5, 'minimum': 1}}
pydantic-ai, bounded, strict demanded strict: True {'title': {'description': 'maxLength=20'}, 'stars': {'maximum': 5, 'minimum': 1}}
END
