#!/usr/bin/env bash
# The same instruments have other names in Prometheus, depending on the language of the service: OpenTelemetry's exporter for
# Python appends the unit, that for JavaScript does not.
#
# Seen with opentelemetry-exporter-prometheus 0.66b2 (PyPI), @opentelemetry/exporter-prometheus 0.223.0 (npm). Guess: a dashboard
# for `gen_ai.client.operation.duration` works for all services, as the conversion is specified. Behaviour: it is
# `gen_ai_client_operation_duration_seconds` from Python and `gen_ai_client_operation_duration` from JavaScript. An alert on the
# longer name never fires for services in JavaScript, and says nothing about it. Two attributes that differ in a dot and an
# underscore are one label from Python, without the first value, and one label twice from JavaScript. Query both names, or send
# OTLP to one collector that converts.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet opentelemetry-sdk==1.45.2 opentelemetry-exporter-prometheus==0.66b2 prometheus_client==0.26.0
npm init -y >/dev/null
npm install --silent @opentelemetry/api@1.9.1 @opentelemetry/sdk-metrics@2.12.1 @opentelemetry/exporter-prometheus@0.223.0

cat >instruments.json <<'JSON'
[
  ["histogram", "gen_ai.client.operation.duration", "s", 1],
  ["histogram", "gen_ai.client.token.usage", "{token}", 1],
  ["counter", "llm.cost", "USD", 1],
  ["counter", "dataset.read", "By", 1],
  ["counter", "runs", "1", 1]
]
JSON
cat >export.mjs <<'JS'
import fs from 'node:fs';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

const reader = new PrometheusExporter({ preventServerStart: true });
const meter = new MeterProvider({ readers: [reader] }).getMeter('service');
for (const [kind, name, unit, value] of JSON.parse(fs.readFileSync('instruments.json'))) {
  if (kind === 'counter') meter.createCounter(name, { unit }).add(value);
  else meter.createHistogram(name, { unit }).record(value);
}
meter.createCounter('labels').add(1, { 'user.id': 'a', user_id: 'b' });
const { resourceMetrics } = await reader.collect();
process.stdout.write(new PrometheusSerializer().serialize(resourceMetrics));
JS
cat >export.py <<'PY'
import json
import re
import subprocess

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import generate_latest

meter = MeterProvider(metric_readers=[PrometheusMetricReader()]).get_meter("service")
with open("instruments.json") as file:
    instruments = json.load(file)
for kind, name, unit, value in instruments:
    if kind == "counter":
        meter.create_counter(name, unit=unit).add(value)
    else:
        meter.create_histogram(name, unit=unit).record(value)
meter.create_counter("labels").add(1, {"user.id": "a", "user_id": "b"})
pages = {
    "Python": generate_latest().decode(),
    "JavaScript": subprocess.run(["node", "export.mjs"], check=True, capture_output=True, text=True).stdout,
}
for _, name, unit, _ in instruments:
    start = name.replace(".", "_")
    found = {language: re.search(rf"^# TYPE ({start}\w*)", page, re.M)[1] for language, page in pages.items()}
    print(f"{name} in {unit}:")
    print("  " + ", ".join(f"{language} {of}" for language, of in found.items()))
for language, page in pages.items():
    labels = re.search(r"^labels_total{(.*)}", page, re.M)[1]
    print(f"user.id=a and user_id=b, {language}:", ", ".join(re.findall(r'user_id="\w"', labels)))
PY
python/bin/python export.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
gen_ai.client.operation.duration in s:
  Python gen_ai_client_operation_duration_seconds, JavaScript gen_ai_client_operation_duration
gen_ai.client.token.usage in {token}:
  Python gen_ai_client_token_usage, JavaScript gen_ai_client_token_usage
llm.cost in USD:
  Python llm_cost_USD_total, JavaScript llm_cost_total
dataset.read in By:
  Python dataset_read_bytes_total, JavaScript dataset_read_total
runs in 1:
  Python runs_total, JavaScript runs_total
user.id=a and user_id=b, Python: user_id="b"
user.id=a and user_id=b, JavaScript: user_id="a", user_id="b"
END
