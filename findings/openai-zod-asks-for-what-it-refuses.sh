#!/usr/bin/env bash
# The official OpenAI client sends the schema of what a zod type returns, and reads the answer with what the type accepts: every
# answer that fits the schema is refused if the type converts.
#
# Seen with openai 7.59.0 and zod 4.6.7. Guess: an answer that the endpoint constrains to the schema of `zodResponseFormat` passes
# the zod type that it was made of. Behaviour: for `z.stringbool()` the model is asked for a boolean, and `true` is then no
# string; for a text that is piped into `z.coerce.number()` it is asked for a number, and a number is no text. Of the
# same type, `z.toJSONSchema` with `io: 'input'` makes the schema that fits. Each call is paid, fails in the client, and fails again.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

npm init -y >/dev/null
npm install --silent openai@7.59.0 zod@4.6.7

cat >client.mjs <<'JS'
import http from 'node:http';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

const VALUES = { boolean: true, number: 7, string: 'true' };
const TYPES = {
  boolean: z.boolean(),
  stringbool: z.stringbool(),
  'text piped to a number': z.string().pipe(z.coerce.number()),
};

let asked;
const server = http.createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  asked = JSON.parse(body).response_format.json_schema.schema.properties.value.type;
  const message = { role: 'assistant', content: JSON.stringify({ value: VALUES[asked] }), refusal: null };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }] }));
});
server.listen(0, '127.0.0.1', async () => {
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${server.address().port}/v1`, apiKey: 'key', maxRetries: 0 });
  for (const [name, type] of Object.entries(TYPES)) {
    const accepted = z.toJSONSchema(type, { io: 'input' }).type;
    let seen;
    try {
      const answer = await client.chat.completions.parse({
        model: 'm', messages: [{ role: 'user', content: 'hi' }],
        response_format: zodResponseFormat(z.object({ value: type }), 'answer'),
      });
      seen = `read as ${JSON.stringify(answer.choices[0].message.parsed)}`;
    } catch (error) {
      seen = `refused: ${(error.cause ?? error).constructor.name}`;
    }
    console.log(`${name}: accepts a ${accepted}, asks for a ${asked}, answer ${JSON.stringify(VALUES[asked])} ${seen}`);
  }
  server.close();
  server.closeAllConnections();
});
JS
node client.mjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
boolean: accepts a boolean, asks for a boolean, answer true read as {"value":true}
stringbool: accepts a string, asks for a boolean, answer true refused: ZodError
text piped to a number: accepts a string, asks for a number, answer 7 refused: ZodError
END
