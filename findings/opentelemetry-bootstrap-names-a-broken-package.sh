#!/usr/bin/env bash
# The instrumentation of OpenAI's client that `opentelemetry-bootstrap` names cannot be imported beside the packages that pip
# chooses for it, and `opentelemetry-instrument` runs the program without spans and without a warning.
#
# Seen with opentelemetry-instrumentation 0.66b2, opentelemetry-instrumentation-openai-v2 2.4b0, openai 3.57.0 and
# opentelemetry-util-genai 1.3b0, which satisfies `>=0.4b0.dev`. Guess: what the tool names works with the tool's own version, or
# the program fails or warns. Behaviour: the package imports httpx, which the client no longer installs, and a module that its
# helper package has removed. The launcher takes any `ModuleNotFoundError` for a library that is not installed, which it logs at
# debug level. A rebuilt image loses the telemetry of all its calls. The successor, opentelemetry-instrumentation-genai-openai,
# is not what the tool names.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet openai==3.57.0 opentelemetry-sdk==1.45.2 opentelemetry-instrumentation==0.66b2 \
  opentelemetry-instrumentation-openai-v2==2.4b0 opentelemetry-util-genai==1.3b0

cat >app.py <<'PY'
import http.server
import json
import threading

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ANSWER = {"id": "c", "object": "chat.completion", "created": 0, "model": "m",
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
client = OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="key")
client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
print("spans of one call:", [span.name for span in spans.get_finished_spans()])
PY
{
  echo "named: $(python/bin/opentelemetry-bootstrap -a requirements | grep openai)"
  python/bin/opentelemetry-instrument python/bin/python app.py 2>&1
  python/bin/python -c 'import opentelemetry.instrumentation.openai_v2' 2>&1 | tail -n 1 || true
  python/bin/pip install --quiet httpx==0.28.1
  python/bin/opentelemetry-instrument python/bin/python app.py 2>&1
  python/bin/python -c 'import opentelemetry.instrumentation.openai_v2' 2>&1 | tail -n 1 || true
  python/bin/pip uninstall --quiet --yes opentelemetry-instrumentation-openai-v2
  python/bin/pip install --quiet opentelemetry-instrumentation-genai-openai==1.3b0
  python/bin/opentelemetry-instrument python/bin/python app.py 2>&1
} >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
named: opentelemetry-instrumentation-openai-v2
spans of one call: []
ModuleNotFoundError: No module named 'httpx'
spans of one call: []
ModuleNotFoundError: No module named 'opentelemetry.util.genai.instruments'
spans of one call: ['chat m']
END
