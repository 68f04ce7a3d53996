#!/usr/bin/env bash
# A keep-alive comment of a server makes a browser client repeat its POST, and a text that starts with a line break arrives
# without it.
#
# Seen with @microsoft/fetch-event-source 2.0.1, eventsource-parser 4.1.3. Guess: a comment is no message, as the
# specification and other parsers have it, and the lines of `data` are joined by line breaks. Behaviour: a comment with the
# blank line after it is a message with empty data. A handler that parses JSON throws on it, the library takes this for a lost
# connection, and sends the request again: each ping starts another paid generation, and the chat shows the beginning twice.
# Empty first lines of `data` are dropped, so that a delta "\n\n- item" is "- item", and paragraphs and lists run together.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

npm init -y >/dev/null
npm install --silent @microsoft/fetch-event-source@2.0.1 eventsource-parser@4.1.3

cat >client.cjs <<'JS'
const http = require('node:http');
const { fetchEventSource } = require('@microsoft/fetch-event-source');

let posts = 0;
const server = http.createServer((request, response) => {
  posts += 1;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('data: {"delta":"Dear"}\n\n');
  if (posts < 3) response.write(': ping\n\n');
  response.end('data: {"delta":" all"}\n\n');
});

server.listen(0, '127.0.0.1', async () => {
  globalThis.window = { setTimeout: (run) => setTimeout(run, 1), clearTimeout };
  globalThis.document = { addEventListener() {}, removeEventListener() {} };
  let shown = '';
  await fetchEventSource(`http://127.0.0.1:${server.address().port}/chat`, {
    method: 'POST',
    body: '{}',
    fetch,
    onmessage: (message) => { shown += JSON.parse(message.data).delta; },
  });
  console.log(`POSTs: ${posts}, shown: ${shown}`);

  const { getLines, getMessages } = require('@microsoft/fetch-event-source/lib/cjs/parse.js');
  const { createParser } = await import('eventsource-parser');
  const stream = 'data:\ndata:\ndata: - item\n\n: ping\n\n';
  const seen = { 'fetch-event-source': [], 'eventsource-parser': [] };
  const take = getLines(getMessages(() => {}, () => {}, (m) => seen['fetch-event-source'].push(m.data)));
  take(new TextEncoder().encode(stream));
  createParser({ onEvent: (e) => seen['eventsource-parser'].push(e.data) }).feed(stream);
  for (const [name, data] of Object.entries(seen)) console.log(`${name}: ${JSON.stringify(data)}`);
  server.close();
});
JS
node client.cjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
POSTs: 3, shown: DearDearDear all
fetch-event-source: ["- item",""]
eventsource-parser: ["\n\n- item"]
END
