#!/usr/bin/env bash
# The official Python client of OpenAI reads a compressed file of results up to the end of its first gzip member and reports no
# error; the JavaScript client, requests and aiohttp read the whole file.
#
# Seen with openai 3.57.0 (httpx2 2.16.2), anthropic 2.14.0, httpx 0.28.1, requests 2.34.2 and aiohttp 3.14.5 (PyPI), openai
# 7.59.0 (npm). Guess: `Content-Encoding: gzip` is undone completely or fails. Behaviour: a gzip body is one or more members (RFC
# 1952), as `cat`, a log that is appended to, bgzip or a server that compresses each flush makes them. httpx and its successor
# stop after the first member and drop the rest. A member that ends with a line is valid JSONL: a batch of thousands of paid
# answers is read as its first part, and the scores are those of a subset. Compare the number of lines with the number of
# requests, or ask for `Accept-Encoding: identity`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet openai==3.57.0 httpx2==2.16.2 anthropic==2.14.0 httpx==0.28.1 requests==2.34.2 aiohttp==3.14.5
npm init -y >/dev/null
npm install --silent openai@7.59.0

cat >read.mjs <<'JS'
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: 'key', maxRetries: 0 });
const text = await (await client.files.content('file-1')).text();
console.log(text.trimEnd().split('\n').length);
JS
cat >read.py <<'PY'
import asyncio
import gzip
import http.server
import subprocess
import threading

import aiohttp
import anthropic
import httpx
import openai
import requests

LINES = [b'{"custom_id": "%d", "response": {"status_code": 200}}\n' % number for number in range(6)]
MEMBERS = {
    "one member": gzip.compress(b"".join(LINES)),
    "three members": b"".join(gzip.compress(b"".join(LINES[at:at + 2])) for at in (0, 2, 4)),
}
body = b""


class Files(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/jsonl")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


async def with_aiohttp(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.text()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
of_openai = openai.OpenAI(base_url=f"{base}/v1", api_key="key", max_retries=0)
of_anthropic = anthropic.Anthropic(base_url=base, api_key="key", max_retries=0)
readers = {
    "openai (Python)": lambda: of_openai.files.content("file-1").text,
    "anthropic (Python)": lambda: of_anthropic.beta.files.download("file-1").text(),
    "httpx": lambda: httpx.get(base).text,
    "requests": lambda: requests.get(base).text,
    "aiohttp": lambda: asyncio.run(with_aiohttp(base)),
}
for name, body in MEMBERS.items():
    for reader, read in readers.items():
        print(f"{name}, {reader}: {len(read().splitlines())} of {len(LINES)} lines")
    found = subprocess.run(["node", "read.mjs", base], check=True, capture_output=True, text=True).stdout
    print(f"{name}, openai (JavaScript): {found.strip()} of {len(LINES)} lines")
PY
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
one member, openai (Python): 6 of 6 lines
one member, anthropic (Python): 6 of 6 lines
one member, httpx: 6 of 6 lines
one member, requests: 6 of 6 lines
one member, aiohttp: 6 of 6 lines
one member, openai (JavaScript): 6 of 6 lines
three members, openai (Python): 2 of 6 lines
three members, anthropic (Python): 2 of 6 lines
three members, httpx: 2 of 6 lines
three members, requests: 6 of 6 lines
three members, aiohttp: 6 of 6 lines
three members, openai (JavaScript): 6 of 6 lines
END
