#!/usr/bin/env bash
# A schema that is stored as `jsonb` makes a model answer before it reasons: the members come back ordered by the length of their
# names, and a grammar makes the model write them in the order of the schema.
#
# Seen with PostgreSQL 15.20 (asked through psycopg 3.3.9) and llguidance 1.9.1. Guess: the order of members means nothing in JSON,
# so a schema from a column of `jsonb` is the schema that was stored. Behaviour: each part is as documented, and together they
# change answers. `jsonb` puts `answer` before `reasoning`, `score` before `evidence` and `label` before `rationale`; a backend
# that constrains the tokens admits only that order, so the model fixes its answer first and then writes reasons for it. The
# answers stay valid, and only their quality falls, for the prompts that were saved and loaded. A column of `json`, as this
# server has for its documents, or of `text`, and SQLite, return what was stored.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages 'psycopg[binary]==3.3.9' llguidance==1.9.1
export PYTHONPATH="$place/packages"

cat >order.py <<'PY'
import json
import os

import psycopg
from llguidance import LLMatcher, LLTokenizer

SCHEMA = json.dumps({"type": "object", "properties": {"reasoning": {"type": "string"}, "answer": {"type": "integer"}},
                     "required": ["reasoning", "answer"], "additionalProperties": False})
TEXTS = {"reasoning first": '{"reasoning":"two and two","answer":4}', "answer first": '{"answer":4,"reasoning":"two and two"}'}
TOKENIZER = LLTokenizer("byte")


def is_admitted(schema, text):
    matcher = LLMatcher(TOKENIZER, LLMatcher.grammar_from_json_schema(schema, {"whitespace_flexible": False}))
    tokens = TOKENIZER.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


with psycopg.connect(host=os.environ.get("PGHOST", "127.0.0.1"), user="postgres", dbname="postgres") as connection:
    for column in ["json", "jsonb"]:
        schema = connection.execute(f"SELECT (%s::{column})::text", (SCHEMA,)).fetchone()[0]
        admitted = [name for name, text in TEXTS.items() if is_admitted(schema, text)]
        print(f"{column}: members {', '.join(json.loads(schema)['properties'])}; the model can write {', '.join(admitted)}")
PY
python3 order.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
json: members reasoning, answer; the model can write reasoning first
jsonb: members answer, reasoning; the model can write answer first
END
