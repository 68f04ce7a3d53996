#!/usr/bin/env bash
# The reader of JSON Schema in zod accepts values that the schema forbids: it drops keywords that it supports elsewhere, without
# an error, though it throws for those that it does not support.
#
# Seen with zod 4.6.7 against ajv 8.20.0. Guess: `z.fromJSONSchema` checks what the schema says or throws, as it does for `not`
# and `if`. Behaviour: `anyOf` of `required` beside `properties` (one of two ids must be there), `required` of a member that
# `properties` does not name, `minItems` without `items`, a keyword beside `$ref`, and a bound beside `enum` or without `type`
# all vanish. Constants that are objects refuse the only valid value, and integers beyond 2^53 are refused. A gateway that checks
# the arguments of a tool by a schema of another server lets calls pass that the server answers with an error.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

npm init -y >/dev/null
npm install --silent zod@4.6.7 ajv@8.20.0

cat >compare.mjs <<'JS'
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';

const CASES = [
  ['one of two members', { type: 'object', properties: { id: { type: 'string' }, url: { type: 'string' } },
    anyOf: [{ required: ['id'] }, { required: ['url'] }] }, {}],
  ['required, not in properties', { type: 'object', properties: { note: { type: 'string' } }, required: ['id'] }, {}],
  ['minItems without items', { type: 'array', minItems: 1 }, []],
  ['bound beside $ref', { type: 'object', properties: { code: { $ref: '#/$defs/code', minLength: 3 } },
    $defs: { code: { type: 'string' } } }, { code: 'ab' }],
  ['bound without type', { type: 'object', properties: { limit: { maximum: 100 } } }, { limit: 5000 }],
  ['anyOf of bounds beside type', { type: 'string', anyOf: [{ minLength: 3 }, { pattern: '^a' }] }, 'b'],
  ['constant object', { const: { unit: 'kg' } }, { unit: 'kg' }],
  ['large integer', { type: 'integer' }, 2 ** 60],
  ['not', { not: { type: 'string' } }, 1],
  ['if', { if: { required: ['id'] }, then: { required: ['url'] } }, {}],
];

const ajv = new Ajv2020({ strict: false });
for (const [name, schema, value] of CASES) {
  let seen;
  try {
    seen = z.fromJSONSchema(schema).safeParse(value).success ? 'accepts' : 'refuses';
  } catch {
    seen = 'does not read the schema';
  }
  console.log(`${name}: ajv ${ajv.validate(schema, value) ? 'accepts' : 'refuses'}, zod ${seen}`);
}
JS
node compare.mjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
one of two members: ajv refuses, zod accepts
required, not in properties: ajv refuses, zod accepts
minItems without items: ajv refuses, zod accepts
bound beside $ref: ajv refuses, zod accepts
bound without type: ajv refuses, zod accepts
anyOf of bounds beside type: ajv refuses, zod accepts
constant object: ajv accepts, zod refuses
large integer: ajv accepts, zod refuses
not: ajv accepts, zod does not read the schema
if: ajv accepts, zod does not read the schema
END
