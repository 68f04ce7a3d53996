#!/usr/bin/env bash
# postgres.js reads an array of Postgres with `NULL` in it as other values: `false` in an array of booleans, the text "NULL" in
# one of texts or numerics.
#
# Seen with postgres 3.4.9 against pg 8.23.1 (npm), PostgreSQL 15. Guess: an element that is NULL is `null`, as a column that is
# NULL. Behaviour: an element goes to the parser of its type, whatever it is: "NULL" is a text, is no true boolean, and is no
# integer. A text "NULL", which Postgres quotes, is then the same as none, and an array with bounds is nested once more.
# `array_agg` over an outer join makes such arrays: items of an evaluation that nobody judged are items that failed, and "NULL"
# is stored as the name of a label. Aggregate with `json_agg`, or with `FILTER (WHERE x IS NOT NULL)`.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

npm init -y >/dev/null
npm install --silent postgres@3.4.9 pg@8.23.1

cat >read.mjs <<'JS'
import pg from 'pg';
import postgres from 'postgres';

const place = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1/postgres';
const sql = postgres(place);
const client = new pg.Client(place);
await client.connect();
const ARRAYS = [
  '(SELECT array_agg(passed ORDER BY id) FROM generate_series(1, 3) id LEFT JOIN (VALUES (1, true)) j (id, passed) USING (id))',
  "ARRAY['good', 'NULL', NULL]",
  'ARRAY[0.5, NULL]::numeric[]',
  'ARRAY[7, NULL]::int8[]',
  'ARRAY[7, NULL]::int4[]',
  "'[0:1]={7,8}'::int4[]",
];
const show = (value) => JSON.stringify(value, (_, inner) => (Number.isNaN(inner) ? '(NaN)' : inner));
for (const array of ARRAYS) {
  const [ours] = await sql.unsafe(`SELECT ${array} AS found`);
  const { rows: [other] } = await client.query(`SELECT ${array} AS found`);
  console.log(`${array.includes('JOIN') ? 'array_agg of one judged item of three' : array}:`);
  console.log(`  pg ${show(other.found)}, postgres.js ${show(ours.found)}`);
}
const [{ found }] = await sql`SELECT json_agg(x) AS found FROM unnest(ARRAY[true, false, NULL]) x`;
console.log(`json_agg: postgres.js ${show(found)}`);
await client.end();
await sql.end();
JS
node read.mjs >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
array_agg of one judged item of three:
  pg [true,null,null], postgres.js [true,false,false]
ARRAY['good', 'NULL', NULL]:
  pg ["good","NULL",null], postgres.js ["good","NULL","NULL"]
ARRAY[0.5, NULL]::numeric[]:
  pg [0.5,null], postgres.js ["0.5","NULL"]
ARRAY[7, NULL]::int8[]:
  pg ["7",null], postgres.js ["7","NULL"]
ARRAY[7, NULL]::int4[]:
  pg [7,null], postgres.js [7,"(NaN)"]
'[0:1]={7,8}'::int4[]:
  pg [7,8], postgres.js [[7,8]]
json_agg: postgres.js [true,false,null]
END
