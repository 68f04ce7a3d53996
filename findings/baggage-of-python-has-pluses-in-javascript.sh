#!/usr/bin/env bash
# A value of OpenTelemetry's baggage with a space has a plus instead when it arrives from Python in JavaScript, and a plus that
# is sent as it is arrives in Python as a space.
#
# Seen with opentelemetry-api 1.45.2 (PyPI), @opentelemetry/core 2.12.1 (npm). Guess: both write and read the percent encoding
# that W3C Baggage names. Behaviour: Python writes and reads the encoding of HTML forms, in which a plus is a space; to
# JavaScript, as to the standard, a plus is a plus. Python also takes a property after `;` for a part of the value, and
# JavaScript drops a member whose value ends with `%` or is empty. The header passes through, so each service of a chain may see
# another value: usage per tenant or experiment splits in two ("team a", "team+a"), and a time zone such as `UTC+2` loses its
# sign. Use values without spaces and pluses, for example ids.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet opentelemetry-api==1.45.2
npm init -y >/dev/null
npm install --silent @opentelemetry/api@1.9.1 @opentelemetry/core@2.12.1

cat >baggage.mjs <<'JS'
import fs from 'node:fs';
import { ROOT_CONTEXT, defaultTextMapGetter, defaultTextMapSetter, propagation } from '@opentelemetry/api';
import { W3CBaggagePropagator } from '@opentelemetry/core';

const propagator = new W3CBaggagePropagator();
const write = (value) => {
  const carrier = {};
  const context = propagation.setBaggage(ROOT_CONTEXT, propagation.createBaggage({ k: { value } }));
  propagator.inject(context, carrier, defaultTextMapSetter);
  return carrier.baggage;
};
const read = (baggage) => {
  const context = propagator.extract(ROOT_CONTEXT, { baggage }, defaultTextMapGetter);
  return propagation.getBaggage(context)?.getEntry('k')?.value ?? null;
};
const { values, headers } = JSON.parse(fs.readFileSync(0, 'utf8'));
console.log(JSON.stringify({ written: values.map(write), read: headers.map(read) }));
JS
cat >baggage.py <<'PY'
import json
import subprocess

from opentelemetry import baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator

propagator = W3CBaggagePropagator()


def write(value):
    carrier = {}
    propagator.inject(carrier, baggage.set_baggage("k", value))
    return carrier["baggage"]


def read(header):
    return baggage.get_baggage("k", propagator.extract({"baggage": header}))


def in_javascript(values, headers):
    asked = json.dumps({"values": values, "headers": headers})
    done = subprocess.run(["node", "baggage.mjs"], input=asked, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


VALUES = ["team a", "UTC+2", "a=b", "50%"]
written = [write(value) for value in VALUES]
other = in_javascript(VALUES, written)
for value, header, found in zip(VALUES, written, other["read"]):
    print(f"{value!r} from Python: {header}, JavaScript reads {found!r}")
for value, header in zip(VALUES, other["written"]):
    print(f"{value!r} from JavaScript: {header}, Python reads {read(header)!r}")
HEADERS = ["k=team%20a", "k=UTC+2", "k=team-a;ttl=30", "k=50%", "k="]
for header, found in zip(HEADERS, in_javascript([], HEADERS)["read"]):
    print(f"{header}: Python reads {read(header)!r}, JavaScript {found!r}")
PY
python/bin/python baggage.py 2>/dev/null >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
'team a' from Python: k=team+a, JavaScript reads 'team+a'
'UTC+2' from Python: k=UTC%2B2, JavaScript reads 'UTC+2'
'a=b' from Python: k=a%3Db, JavaScript reads 'a=b'
'50%' from Python: k=50%25, JavaScript reads '50%'
'team a' from JavaScript: k=team%20a, Python reads 'team a'
'UTC+2' from JavaScript: k=UTC%2B2, Python reads 'UTC+2'
'a=b' from JavaScript: k=a%3Db, Python reads 'a=b'
'50%' from JavaScript: k=50%25, Python reads '50%'
k=team%20a: Python reads 'team a', JavaScript 'team a'
k=UTC+2: Python reads 'UTC 2', JavaScript 'UTC+2'
k=team-a;ttl=30: Python reads 'team-a;ttl=30', JavaScript 'team-a'
k=50%: Python reads '50%', JavaScript None
k=: Python reads '', JavaScript None
END
