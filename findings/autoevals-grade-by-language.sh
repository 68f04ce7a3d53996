#!/usr/bin/env bash
# The same scorers of autoevals grade the same answers 1 in Python and 0 in JavaScript, or the other way round, if an answer has
# a boolean or a whole number that is written as 1.0.
#
# Seen with autoevals 0.4.1 (PyPI) and 0.0.132 (npm). Guess: scorers of one library with the same names and options are one
# metric, so that an evaluation in a notebook can be compared with one in the pipeline of a product in TypeScript. Behaviour:
# `ExactMatch` and `JSONDiff` compare texts of the values, and each language writes its own: `True` and `1.0` in Python, `true`
# and `1` in JavaScript. A model that answers the text `true` for a boolean is right in one and wrong in the other. Two booleans
# that differ are 0 apart from the start letter in one, and share a letter in the other. Python accepts NaN in JSON. In both,
# members in another order are no exact match.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet autoevals==0.4.1
npm init -y >/dev/null
npm install --silent autoevals@0.0.132

cat >cases.json <<'JSON'
["[\"ExactMatch\", true, true]", "[\"ExactMatch\", \"true\", true]", "[\"ExactMatch\", \"True\", true]",
 "[\"ExactMatch\", 2, 2.0]", "[\"ExactMatch\", \"2\", 2.0]", "[\"ExactMatch\", {\"price\": 12}, {\"price\": 12.0}]",
 "[\"ExactMatch\", {\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]", "[\"ExactMatch\", {\"paid\": \"no\"}, {\"paid\": \"no\"}]",
 "[\"JSONDiff\", {\"paid\": true}, {\"paid\": false}]", "[\"JSONDiff\", {\"paid\": \"true\"}, {\"paid\": true}]",
 "[\"JSONDiff\", {\"paid\": \"yes\"}, {\"paid\": \"no\"}]", "[\"ValidJSON\", \"{\\\"score\\\": NaN}\", null]"]
JSON
cat >grade.py <<'PY'
import json

import autoevals

with open("cases.json") as file:
    cases = [json.loads(case) for case in json.load(file)]
print(json.dumps([getattr(autoevals, name)().eval(output, expected).score for name, output, expected in cases]))
PY
python/bin/python grade.py >python.json
cat >grade.mjs <<'JS'
import fs from 'node:fs';
import * as autoevals from 'autoevals';

const python = JSON.parse(fs.readFileSync('python.json'));
for (const [at, text] of JSON.parse(fs.readFileSync('cases.json')).entries()) {
  const [name, output, expected] = JSON.parse(text);
  const { score } = await autoevals[name]({ output, expected });
  console.log(`${text.slice(1, -1)}: Python ${python[at].toFixed(2)}, npm ${score.toFixed(2)}`);
}
JS
node grade.mjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
"ExactMatch", true, true: Python 1.00, npm 1.00
"ExactMatch", "true", true: Python 0.00, npm 1.00
"ExactMatch", "True", true: Python 1.00, npm 0.00
"ExactMatch", 2, 2.0: Python 0.00, npm 1.00
"ExactMatch", "2", 2.0: Python 0.00, npm 1.00
"ExactMatch", {"price": 12}, {"price": 12.0}: Python 0.00, npm 1.00
"ExactMatch", {"a": 1, "b": 2}, {"b": 2, "a": 1}: Python 0.00, npm 0.00
"ExactMatch", {"paid": "no"}, {"paid": "no"}: Python 1.00, npm 1.00
"JSONDiff", {"paid": true}, {"paid": false}: Python 0.00, npm 0.20
"JSONDiff", {"paid": "true"}, {"paid": true}: Python 0.67, npm 0.67
"JSONDiff", {"paid": "yes"}, {"paid": "no"}: Python 0.00, npm 0.00
"ValidJSON", "{\"score\": NaN}", null: Python 1.00, npm 0.00
END
