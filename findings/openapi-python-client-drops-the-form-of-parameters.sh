#!/usr/bin/env bash
# A client that openapi-python-client generates sends lists and objects in a query in another form than the document says, and
# the filter of an object becomes parameters that the server does not know.
#
# Seen with openapi-python-client 0.29.1 (PyPI) against @hey-api/openapi-ts 0.99.0 (npm). Guess: `style` and `explode` of a
# parameter are followed, or the generator refuses them. Behaviour: they are dropped without a warning. A list with `explode:
# false` is sent as a repeated parameter, so a server that reads one value answers for the first or the last; the members of a
# `deepObject` are sent as parameters of their own. A server that ignores unknown parameters then filters nothing: a job that
# tries the failed runs again tries all of them, and pays for them. Name lists and filters as plain parameters of texts, or
# refuse what is unknown.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet openapi-python-client==0.29.1
npm init -y >/dev/null
npm pkg set type=module
npm install --silent @hey-api/openapi-ts@0.99.0 typescript@6.0.3 tsx@4.23.15

cat >api.json <<'JSON'
{"openapi": "3.1.0", "info": {"title": "runs", "version": "1"}, "paths": {"/runs": {"get": {"operationId": "listRuns",
  "parameters": [
    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
    {"name": "ids", "in": "query", "explode": false, "schema": {"type": "array", "items": {"type": "string"}}},
    {"name": "models", "in": "query", "style": "pipeDelimited", "explode": false,
      "schema": {"type": "array", "items": {"type": "string"}}},
    {"name": "filter", "in": "query", "style": "deepObject", "schema": {"$ref": "#/components/schemas/Filter"}}],
  "responses": {"204": {"description": "nothing"}}}}},
 "components": {"schemas": {"Filter": {"type": "object", "properties": {"state": {"type": "string"}}}}}}
JSON
PATH="$PWD/python/bin:$PATH" openapi-python-client generate --path api.json --output-path client >log 2>&1
npx openapi-ts --input api.json --output script --client @hey-api/client-fetch >>log 2>&1
if grep -i warning log; then exit 1; fi

cat >ask.ts <<'TS'
import { client } from './script/client.gen';
import { listRuns } from './script/sdk.gen';

client.setConfig({ baseUrl: process.argv[2] });
await listRuns({ query: { tags: ['a', 'b'], ids: ['1', '2'], models: ['x', 'y'], filter: { state: 'failed' } } });
TS
cat >ask.py <<'PY'
import http.server
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, "client")
from runs_client import Client
from runs_client.api.default import list_runs
from runs_client.models import Filter


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(urllib.parse.unquote(urllib.parse.urlsplit(self.path).query))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


asked = []
server = http.server.HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
list_runs.sync_detailed(client=Client(base_url=base), tags=["a", "b"], ids=["1", "2"], models=["x", "y"],
                        filter_=Filter(state="failed"))
subprocess.run(["npx", "tsx", "ask.ts", base], check=True)
for name, query in zip(("openapi-python-client", "openapi-ts"), asked, strict=True):
    print(f"{name}: {' '.join(sorted(query.split('&')))}")
PY
python/bin/python ask.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
openapi-python-client: ids=1 ids=2 models=x models=y state=failed tags=a tags=b
openapi-ts: filter[state]=failed ids=1,2 models=x|y tags=a tags=b
END
