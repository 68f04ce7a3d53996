#!/usr/bin/env bash
# With axios-retry, a `POST` whose connection breaks while the answer is computed is sent four times, and one that the server
# refused with 503 and `Retry-After` once.
#
# Seen with axios-retry 4.5.0 and axios 1.21.1, beside got 14.6.6 and ky 1.14.3, all with their defaults. Guess: without options,
# a retry library leaves `POST` alone, as got and ky do, or repeats what is safe to repeat: the 503, which says that
# nothing was done. Behaviour: the default condition is "a network error, or a status of an idempotent method". A reset
# connection counts as a network error for each method, although the server may have computed the answer. So a proxy that is
# restarted, or that ends a silent connection, turns one request into four, without a pause in between, while 429 and 503 are
# not retried at all.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm init -y >/dev/null
npm install --silent axios-retry@4.5.0 axios@1.21.1 got@14.6.6 ky@1.14.3

cat >client.mjs <<'JS'
import http from 'node:http';
import axios from 'axios';
import axiosRetry from 'axios-retry';
import got from 'got';
import ky from 'ky';

const requests = {};
const server = http.createServer((request, response) => {
  requests[request.url] = (requests[request.url] ?? 0) + 1;
  request.resume().on('end', () => {
    if (request.url.startsWith('/refused')) response.writeHead(503, { 'retry-after': '1' }).end();
    else setTimeout(() => request.socket.destroy(), 50);
  });
});

server.listen(0, '127.0.0.1', async () => {
  const instance = axios.create();
  axiosRetry(instance);
  const clients = {
    'axios-retry': (url) => instance.post(url, {}),
    got: (url) => got.post(url, { json: {} }),
    ky: (url) => ky.post(url, { json: {} }),
  };
  for (const [name, post] of Object.entries(clients)) {
    const counts = [];
    for (const what of ['refused', 'broken']) {
      const path = `/${what}/${name}`;
      await post(`http://127.0.0.1:${server.address().port}${path}`).catch(() => {});
      counts.push(`${what} ${requests[path]}`);
    }
    console.log(`${name}: ${counts.join(', ')}`);
  }
  server.closeAllConnections();
  server.close();
});
JS
node client.mjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
axios-retry: refused 1, broken 4
got: refused 1, broken 1
ky: refused 1, broken 1
END
