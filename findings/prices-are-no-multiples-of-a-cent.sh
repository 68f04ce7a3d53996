#!/usr/bin/env bash
# Whether 19.99 is a multiple of 0.01 depends on the validator: the same answer of an LM is valid for the server and invalid for
# its client.
#
# Seen with ajv 8.20.0, @cfworker/json-schema 4.1.6 and zod 4.6.7 (npm), jsonschema 4.26.0 and jsonschema-rs 0.61.0 (PyPI; the
# crate jsonschema of Rust). Guess: validators of one specification agree on two numbers with two decimals. Behaviour: ajv and
# Python's jsonschema divide floats, so that they refuse 19.99, 0.07 and 8.61 and accept 19.98: in all 1363 of the amounts
# from 0.00 to 99.99. The others accept each of them. An LM that fills a schema with prices then fails for some prices only, in
# some languages only, and another attempt cannot repair it, for the value is right.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet jsonschema==4.26.0 jsonschema-rs==0.61.0
npm init -y >/dev/null
npm install --silent ajv@8.20.0 @cfworker/json-schema@4.1.6 zod@4.6.7

cat >check.mjs <<'JS'
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Validator } from '@cfworker/json-schema';
import { z } from 'zod';

const schema = { type: 'number', multipleOf: 0.01 };
const amounts = Array.from({ length: 10000 }, (_, cents) => Number(`${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`));
const ajv = new Ajv2020().compile(schema);
const cfworker = new Validator(schema, '2020-12');
const read = z.fromJSONSchema(schema);
const validators = {
  ajv,
  '@cfworker/json-schema': (amount) => cfworker.validate(amount).valid,
  zod: (amount) => read.safeParse(amount).success,
};
for (const [name, valid] of Object.entries(validators)) {
  console.log(`${name}: 19.99 ${valid(19.99)}, 19.98 ${valid(19.98)}, refused of 10000: ${amounts.filter((a) => !valid(a)).length}`);
}
JS
cat >check.py <<'PY'
import jsonschema
import jsonschema_rs

schema = {"type": "number", "multipleOf": 0.01}
amounts = [float(f"{cents // 100}.{cents % 100:02}") for cents in range(10000)]
validators = {
    "jsonschema of Python": jsonschema.Draft202012Validator(schema).is_valid,
    "jsonschema of Rust": jsonschema_rs.validator_for(schema).is_valid,
}
for name, valid in validators.items():
    seen = f"19.99 {valid(19.99)}, 19.98 {valid(19.98)}".lower()
    print(f"{name}: {seen}, refused of 10000: {sum(not valid(amount) for amount in amounts)}")
PY
{ node check.mjs; python/bin/python check.py; } >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
ajv: 19.99 false, 19.98 true, refused of 10000: 1363
@cfworker/json-schema: 19.99 true, 19.98 true, refused of 10000: 0
zod: 19.99 true, 19.98 true, refused of 10000: 0
jsonschema of Python: 19.99 false, 19.98 true, refused of 10000: 1363
jsonschema of Rust: 19.99 true, 19.98 true, refused of 10000: 0
END
