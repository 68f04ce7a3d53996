#!/usr/bin/env bash
# OpenTelemetry JS chooses the type of a number by its value, and its two exporters disagree: a temperature of 1 is read as 0,
# and one large number makes a receiver refuse the whole request of spans.
#
# Seen with @opentelemetry/sdk-trace-base 2.12.1, exporter-trace-otlp-http and -proto 0.223.1 (npm), opentelemetry-proto 1.45.2
# (PyPI). Guess: an attribute that the conventions define as a double is a double, and JSON and protobuf carry the same.
# Behaviour: 0.7 is a double and 1 is an int, so code that reads `double_value` gets 0, and a typed column splits. A whole
# number beyond 64 bits (1e20, a limit of `Number.MAX_VALUE`) is a double in protobuf, and in JSON an `intValue` that fits no
# int64: a reader of the official schema refuses the request with all spans in it. `Infinity` is a double in protobuf, and no
# value at all in JSON. A change of the exporter changes what is stored, and one span costs a batch of them.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet opentelemetry-proto==1.45.2
npm init -y >/dev/null
npm install --silent @opentelemetry/api@1.9.1 @opentelemetry/sdk-trace-base@2.12.1 \
  @opentelemetry/exporter-trace-otlp-http@0.223.1 @opentelemetry/exporter-trace-otlp-proto@0.223.1

cat >send.cjs <<'JS'
const fs = require('node:fs');
const http = require('node:http');
const { BasicTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const exporters = {
  json: require('@opentelemetry/exporter-trace-otlp-http').OTLPTraceExporter,
  proto: require('@opentelemetry/exporter-trace-otlp-proto').OTLPTraceExporter,
};

const server = http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    fs.writeFileSync(request.url.slice(1), Buffer.concat(parts));
    response.writeHead(200).end();
  });
});
server.listen(0, '127.0.0.1', async () => {
  for (const value of [0.7, 1, 1e20, Infinity]) {
    for (const [name, Exporter] of Object.entries(exporters)) {
      const url = `http://127.0.0.1:${server.address().port}/${name}.${value}`;
      const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new Exporter({ url }))] });
      const span = provider.getTracer('finding').startSpan('call');
      span.setAttribute('gen_ai.request.temperature', value);
      span.end();
      await provider.forceFlush();
      await provider.shutdown();
    }
  }
  server.close();
});
JS
cat >read.py <<'PY'
import base64
import json

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


# In OTLP/JSON the ids are hexadecimal; the general reader of protobuf expects Base64.
def read_json(text):
    request = json.loads(text)
    span = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for member in ("traceId", "spanId"):
        span[member] = base64.b64encode(bytes.fromhex(span[member])).decode()
    return json_format.ParseDict(request, ExportTraceServiceRequest())


for number in ("0.7", "1", "100000000000000000000", "Infinity"):
    for name, read in (("json", read_json), ("proto", ExportTraceServiceRequest.FromString)):
        with open(f"{name}.{number}", "rb") as file:
            try:
                [attribute] = read(file.read()).resource_spans[0].scope_spans[0].spans[0].attributes
                value = attribute.value
                print(f"{number} as {name}: {value.WhichOneof('value')}, double_value is {value.double_value}")
            except json_format.ParseError as error:
                print(f"{number} as {name}: refused, {str(error).rstrip('.').split(': ')[-2]}")
PY
node send.cjs 2>log || { cat log; exit 1; }
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
0.7 as json: double_value, double_value is 0.7
0.7 as proto: double_value, double_value is 0.7
1 as json: int_value, double_value is 0.0
1 as proto: int_value, double_value is 0.0
100000000000000000000 as json: refused, Value out of range
100000000000000000000 as proto: double_value, double_value is 1e+20
Infinity as json: None, double_value is 0.0
Infinity as proto: double_value, double_value is inf
END
