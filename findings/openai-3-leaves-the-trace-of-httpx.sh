#!/usr/bin/env bash
# The trace of a program ends at OpenAI's client after its update to 3.x: the instrumentation of httpx neither makes a span for
# its requests nor sends `traceparent`, and reports nothing.
#
# Seen with openai 2.54.0 and 3.57.0, and opentelemetry-instrumentation-httpx 0.66b2. Guess: a program that instruments httpx has
# its calls of a model in its traces, as with 2.x. Behaviour: 3.x sends with httpx2, another package, which another class of the
# same instrumentation covers (`HTTPX2ClientInstrumentor`). httpx is installed for other reasons in most programs, so no
# dependency is reported as missing. The spans of a gateway or model server are then roots of traces of their own.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

for version in 2.54.0 3.57.0; do
  python3 -m venv "$version"
  "$version/bin/pip" install --quiet "openai==$version" httpx==0.28.1 opentelemetry-sdk==1.45.2 \
    opentelemetry-instrumentation-httpx==0.66b2
done

cat >call.py <<'PY'
import http.server
import json
import sys
import threading

from openai import OpenAI, __version__
from opentelemetry import trace
from opentelemetry.instrumentation import httpx as instrumentation
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ANSWER = {"id": "c", "object": "chat.completion", "created": 0, "model": "m",
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]}
parents = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        parents.append(self.headers.get("traceparent") is not None)
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
getattr(instrumentation, sys.argv[1])().instrument()
client = OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="key")
with trace.get_tracer("program").start_as_current_span("answer a question"):
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
names = [span.name for span in spans.get_finished_spans()]
print(f"openai {__version__}, {sys.argv[1]}: traceparent {parents[0]}, spans {names}")
PY
{
  2.54.0/bin/python call.py HTTPXClientInstrumentor 2>&1
  3.57.0/bin/python call.py HTTPXClientInstrumentor 2>&1
  3.57.0/bin/python call.py HTTPX2ClientInstrumentor 2>&1
} >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
openai 2.54.0, HTTPXClientInstrumentor: traceparent True, spans ['POST', 'answer a question']
openai 3.57.0, HTTPXClientInstrumentor: traceparent False, spans ['answer a question']
openai 3.57.0, HTTPX2ClientInstrumentor: traceparent True, spans ['POST', 'answer a question']
END
