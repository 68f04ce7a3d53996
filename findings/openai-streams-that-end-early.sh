#!/usr/bin/env bash
# A stream that failed ends like a complete one in the official OpenAI clients, and an event that means nothing fails it: which
# of them depends on the language.
#
# Seen with openai 7.59.0 (npm) and 3.57.0 (PyPI). Guess: a stream either ends with a finish reason or with an error, and what the
# specification of server-sent events ignores is ignored. Behaviour: a gateway that answers `stream: true` with a whole JSON body
# (a cache does) gives a stream of nothing, in both. `event: error` with a message is a chunk without choices in Python, which
# then ends, and an error in npm; so is an end within an event. A byte order mark of a proxy costs Python the first delta. A
# `retry` or `id` field of its own before the first chunk is no event, but Python reads it as one and fails on its empty data.
# Both end without an error if the finish reason never arrives. Only a check of the finish reason finds the lost answers.
set -euo pipefail

place=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet openai==3.57.0
npm init -y >/dev/null
npm install --silent openai@7.59.0

cat >server.mjs <<'JS'
import http from 'node:http';

const chunk = (delta, end) => `data: ${JSON.stringify({
  id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm',
  choices: [{ index: 0, delta, finish_reason: end ?? null }],
})}\n\n`;
const first = chunk({ role: 'assistant', content: 'Hel' });
const all = `${first}${chunk({ content: 'lo' })}${chunk({}, 'stop')}data: [DONE]\n\n`;
const STREAMS = {
  complete: all,
  'no finish reason': first,
  'cut within an event': first + chunk({ content: 'lo' }).slice(0, 40),
  'event: error': `${first}event: error\ndata: {"message":"overloaded"}\n\n`,
  'retry first': `retry: 3000\n\n${all}`,
  'byte order mark first': `\ufeff${all}`,
};
const whole = JSON.stringify({
  id: 'c', object: 'chat.completion', created: 1, model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
});

const server = http.createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const stream = STREAMS[JSON.parse(body).model];
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
  response.end(stream ?? whole);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
JS
cat >client.mjs <<'JS'
import OpenAI from 'openai';

const [url, ...models] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url, apiKey: 'key', maxRetries: 0 });
for (const model of models) {
  let seen = '';
  let end = 'ends';
  try {
    const stream = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }], stream: true });
    for await (const part of stream) seen += part.choices?.[0]?.delta?.content ?? '';
  } catch (error) {
    end = error.constructor.name;
  }
  console.log(`npm, ${model}: "${seen}", ${end}`);
}
JS
cat >client.py <<'PY'
import sys

import openai

url, *models = sys.argv[1:]
client = openai.OpenAI(base_url=url, api_key="key", max_retries=0)
for model in models:
    seen, end = "", "ends"
    try:
        for part in client.chat.completions.create(model=model, messages=[{"role": "user", "content": "hi"}], stream=True):
            seen += (part.choices[0].delta.content or "") if part.choices else ""
    except Exception as error:
        end = type(error).__name__
    print(f'Python, {model}: "{seen}", {end}')
PY
node server.mjs >port &
server=$!
while [ ! -s port ]; do sleep 0.1; done
url="http://127.0.0.1:$(cat port)/v1"
streams=(complete "no finish reason" "cut within an event" "event: error" "retry first" "byte order mark first" "JSON body")
for client in "node client.mjs" "python/bin/python client.py"; do $client "$url" "${streams[@]}" 2>log; done >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
npm, complete: "Hello", ends
npm, no finish reason: "Hel", ends
npm, cut within an event: "Hel", SyntaxError
npm, event: error: "Hel", APIError
npm, retry first: "Hello", ends
npm, byte order mark first: "Hello", ends
npm, JSON body: "", ends
Python, complete: "Hello", ends
Python, no finish reason: "Hel", ends
Python, cut within an event: "Hel", ends
Python, event: error: "Hel", ends
Python, retry first: "", JSONDecodeError
Python, byte order mark first: "lo", ends
Python, JSON body: "", ends
END
