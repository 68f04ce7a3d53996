#!/usr/bin/env bash
# Libraries that repair the JSON of an LM read other values from the same text, without an error: a postcode loses its zero, a
# time is cut to its hour, 1,234 is 1, and a cut name is a member.
#
# Seen with jsonrepair 3.15.0, partial-json 0.1.7 and best-effort-json-parser 1.5.1 (npm), json_repair 0.64.6 (PyPI). Guess: a
# repair completes what is missing, and passes on or refuses what it does not understand, so that a service and its pages agree.
# Behaviour: no two agree. `01234` is the number 1234 or a text, `10:30` is 10, `50%` is 50 or a text, `1,234` is 1, a text or an
# error, and of an answer that a limit of tokens cut within a name, one makes a member of the half name that is null. A page
# that repairs a stream with partial-json shows 1 where the worker in Python stores "1,234", and a schema of numbers accepts
# the wrong one.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet json_repair==0.64.6
npm init -y >/dev/null
npm install --silent jsonrepair@3.15.0 partial-json@0.1.7 best-effort-json-parser@1.5.1

cat >texts.json <<'JSON'
["{\"a\": 01234}", "{\"a\": 10:30}", "{\"a\": 50%}", "{\"a\": 1,234}", "{\"a\": 12.50 EUR}", "{\"a\": -", "{\"a\": 1, \"total_n"]
JSON
cat >repair.py <<'PY'
import json

import json_repair

with open("texts.json") as file:
    print(json.dumps([json_repair.loads(text) for text in json.load(file)]))
PY
python/bin/python repair.py >python.json
cat >repair.cjs <<'JS'
const { jsonrepair } = require('jsonrepair');
const partial = require('partial-json');
const bestEffort = require('best-effort-json-parser');
const texts = require('./texts.json');
const python = require('./python.json');

console.error = () => {};
console.warn = () => {};
const attempt = (read) => {
  try {
    return JSON.stringify(read());
  } catch {
    return 'error';
  }
};
for (const [at, text] of texts.entries()) {
  console.log(text);
  console.log(`  jsonrepair ${attempt(() => JSON.parse(jsonrepair(text)))}, json_repair ${JSON.stringify(python[at])}`);
  console.log(`  partial-json ${attempt(() => partial.parse(text))}, best-effort ${attempt(() => bestEffort.parse(text))}`);
}
JS
node repair.cjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
{"a": 01234}
  jsonrepair {"a":"01234"}, json_repair {"a":1234}
  partial-json {}, best-effort {"a":1234}
{"a": 10:30}
  jsonrepair error, json_repair {"a":10}
  partial-json {}, best-effort {"a":10,"":30}
{"a": 50%}
  jsonrepair {"a":"50%"}, json_repair {"a":50}
  partial-json {}, best-effort {"a":50}
{"a": 1,234}
  jsonrepair error, json_repair {"a":"1,234"}
  partial-json {"a":1}, best-effort {"a":1}
{"a": 12.50 EUR}
  jsonrepair error, json_repair {"a":12.5}
  partial-json {}, best-effort {"a":12.5}
{"a": -
  jsonrepair {"a":0}, json_repair {"a":""}
  partial-json {}, best-effort {"a":0}
{"a": 1, "total_n
  jsonrepair {"a":1,"total_n":null}, json_repair {"a":1}
  partial-json {"a":1}, best-effort {"a":1}
END
