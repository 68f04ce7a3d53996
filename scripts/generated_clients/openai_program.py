"""A graph called with the official `openai` package: whole, streamed, as JSON, refused. Run by run.sh after program.py,
which posts the graph."""

import json
import os

from openai import NotFoundError, OpenAI

client = OpenAI(base_url=os.environ["DSRS_URL"] + "/openai/v1", api_key=os.environ["DSRS_API_KEY"], max_retries=0)
question = {"role": "user", "content": "Where is it?"}

assert "ask" in [model.id for model in client.models.list()]

whole = client.chat.completions.create(model="ask", messages=[question])
answer = whole.choices[0].message.content
assert answer and whole.usage and whole.usage.total_tokens > 0, whole

text = ""
for chunk in client.chat.completions.create(model="ask", messages=[question], stream=True):
    text += chunk.choices[0].delta.content or ""
assert text == answer, (text, answer)

schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
form = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
found = client.chat.completions.create(model="ask", messages=[question], response_format=form)
assert json.loads(found.choices[0].message.content or "") == {"answer": answer}, found

try:
    client.chat.completions.create(model="nothing", messages=[question])
    raise SystemExit("a graph that does not exist answered")
except NotFoundError as error:
    assert error.code == "not_found", error
print("ok: the openai package:", answer)
