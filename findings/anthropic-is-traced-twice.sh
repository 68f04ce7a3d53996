#!/usr/bin/env bash
# A call of Anthropic's client has two spans with the same usage where OpenTelemetry's instrumentation of it is on, since the
# client now makes a span of its own.
#
# Seen with anthropic 2.14.0, opentelemetry-instrumentation-genai-anthropic 1.3b0 and opentelemetry-sdk 1.45.2. Guess: a call is
# one span of `gen_ai.operation.name` = `chat`, and its tokens are the sum over such spans. Behaviour: the client finds the global
# tracer provider and adds a span inside that of the instrumentation; both say `chat`, and both have the tokens. A dashboard of
# tokens or cost doubles with an update of the client; `ANTHROPIC_OPEN_TELEMETRY=false` restores one span.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet anthropic==2.14.0 opentelemetry-sdk==1.45.2 opentelemetry-instrumentation-genai-anthropic==1.3b0 \
  opentelemetry-util-genai==1.3b0

cat >call.py <<'PY'
import http.server
import json
import threading

from anthropic import Anthropic
from opentelemetry import trace
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ANSWER = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "yes"}],
          "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 4}}


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
AnthropicInstrumentor().instrument()
client = Anthropic(base_url=f"http://127.0.0.1:{server.server_port}", api_key="key")
client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hello"}])
for span in spans.get_finished_spans():
    parent = "nested" if span.parent else "root"
    names = ["gen_ai.operation.name", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"]
    print(f"  {span.name}, {parent}:", *(span.attributes[name] for name in names))
PY
{
  echo "by default:"
  python/bin/python call.py
  echo "with ANTHROPIC_OPEN_TELEMETRY=false:"
  ANTHROPIC_OPEN_TELEMETRY=false python/bin/python call.py
} >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
by default:
  anthropic.messages.create, nested: chat 9 4
  chat m, root: chat 9 4
with ANTHROPIC_OPEN_TELEMETRY=false:
  chat m, root: chat 9 4
END
