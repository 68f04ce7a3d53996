#!/usr/bin/env bash
# The same `timeout` bounds other things in the two official OpenAI clients: a stream that stops sending ends with an error in
# Python, and hangs in npm, where only the headers of a stream are bounded.
#
# Seen with openai 7.59.0 (npm) and 3.57.0 (PyPI). Guess: a timeout of four seconds bounds the silence of a stream, or its
# whole duration, in both. Behaviour: with npm the timer is stopped when the headers of a stream have arrived, so that a
# server that sends one delta and nothing for twelve seconds is no error; a body that is not streamed is bounded as a whole.
# Python bounds the time between two reads, of both. A worker in JavaScript waits for a silent provider long after its timeout
# unless it brings a deadline of its own, and a service that is ported to the other language changes its behaviour.
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
const whole = JSON.stringify({
  id: 'c', object: 'chat.completion', created: 1, model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
});

const server = http.createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  const { stream } = JSON.parse(body);
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
  response.write(stream ? chunk({ role: 'assistant', content: 'Hel' }) : whole.slice(0, 9));
  setTimeout(() => {
    response.end(stream ? `${chunk({ content: 'lo' })}${chunk({}, 'stop')}data: [DONE]\n\n` : whole.slice(9));
  }, 12000);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
JS
cat >client.mjs <<'JS'
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'key', timeout: 4000, maxRetries: 0 });
for (const stream of [true, false]) {
  let seen = '';
  try {
    const answer = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream });
    if (stream) for await (const part of answer) seen += part.choices[0].delta.content ?? '';
    else seen = answer.choices[0].message.content;
  } catch (error) {
    seen += ` ${error.message}`;
  }
  console.log(`npm ${stream ? 'stream' : 'whole'}: ${seen.trim()}`);
}
JS
cat >client.py <<'PY'
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="key", timeout=4, max_retries=0)
for stream in (True, False):
    seen = ""
    try:
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=stream)
        if stream:
            for part in answer:
                seen += part.choices[0].delta.content or ""
        else:
            seen = answer.choices[0].message.content
    except openai.APITimeoutError as error:
        seen += f" {error}"
    print(f"Python {'stream' if stream else 'whole'}: {seen.strip()}")
PY
node server.mjs >port &
server=$!
while [ ! -s port ]; do sleep 0.1; done
url="http://127.0.0.1:$(cat port)/v1"
{ node client.mjs "$url"; python/bin/python client.py "$url"; } >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed, or this machine stops for seconds" >&2; exit 1; }
npm stream: Hello
npm whole: Request timed out.
Python stream: Hel Request timed out.
Python whole: Request timed out.
END
