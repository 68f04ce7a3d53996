#!/usr/bin/env bash
# A `Retry-After` of more than two minutes is two things to official clients: OpenAI's fails at once, Anthropic's sleeps for as
# long as the header says, whatever the timeout of the call.
#
# Seen with openai 3.57.0 and anthropic 2.14.0, both with their default of two retries. Guess: `timeout=5` bounds a call, and a
# client that retries 429 retries it after a bounded pause. Behaviour: openai fails after one request, even if the server also
# sends `x-should-retry: true`; anthropic has no practical limit, so a call with a timeout of 5 s blocks its thread until a daily
# quota is renewed. With `x-should-retry: false` both fail at once: a server with quotas of a day should send it.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

for package in openai==3.57.0 anthropic==2.14.0; do
  python3 -m venv "$package"
  "$package/bin/pip" install --quiet "$package"
done

cat >call.py <<'PY'
import http.server
import importlib
import logging
import sys
import threading

name, *extra = sys.argv[1:]
module = importlib.import_module(name)
requests = []
waits = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        requests.append(self.path)
        body = b'{"error": {"message": "the quota of the day is spent"}}'
        self.send_response(429)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("retry-after", "36000")
        for value in extra:
            self.send_header("x-should-retry", value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Waits(logging.Handler):
    def emit(self, record):
        if "Retrying request" in record.getMessage():
            waits.append(max(value for value in record.args if isinstance(value, float)))


def call():
    log = logging.getLogger(f"{name}._base_client")
    log.setLevel(logging.INFO)
    log.addHandler(Waits())
    url = f"http://127.0.0.1:{server.server_port}"
    messages = [{"role": "user", "content": "hello"}]
    try:
        if name == "openai":
            client = module.OpenAI(base_url=url, api_key="key", timeout=5)
            client.chat.completions.create(model="m", messages=messages)
        else:
            client = module.Anthropic(base_url=url, api_key="key", timeout=5)
            client.messages.create(model="m", max_tokens=9, messages=messages)
    except module.RateLimitError:
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
thread = threading.Thread(target=call, daemon=True)
thread.start()
thread.join(timeout=15)
state = "still waits after 15 s" if thread.is_alive() else "failed"
print(f"{state}; requests: {len(requests)}; waits: {[f'{wait:.0f} s' for wait in waits]}")
PY
{
  for package in openai==3.57.0 anthropic==2.14.0; do
    echo "$package: $("$package/bin/python" call.py "${package%%==*}")"
  done
  for package in openai==3.57.0 anthropic==2.14.0; do
    for retry in true false; do
      echo "$package, x-should-retry: $retry: $("$package/bin/python" call.py "${package%%==*}" "$retry")"
    done
  done
} >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
openai==3.57.0: failed; requests: 1; waits: []
anthropic==2.14.0: still waits after 15 s; requests: 1; waits: ['36000 s']
openai==3.57.0, x-should-retry: true: failed; requests: 1; waits: []
openai==3.57.0, x-should-retry: false: failed; requests: 1; waits: []
anthropic==2.14.0, x-should-retry: true: still waits after 15 s; requests: 1; waits: ['36000 s']
anthropic==2.14.0, x-should-retry: false: failed; requests: 1; waits: []
END
