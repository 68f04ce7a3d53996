#!/usr/bin/env bash
# Of one JSON schema, three libraries that constrain the tokens of a model make three languages: two let it write 11 where 10 is the
# maximum, two cannot write `{"b": 1, "a": 2}`, and two no member whose name has to fit a pattern.
#
# Seen with llguidance 1.9.1, outlines-core 0.2.14 and lm-format-enforcer 0.11.3, beside jsonschema 4.26.0. Guess: what is generated
# with a schema is valid for it, what is valid can be generated, and a keyword that a library cannot enforce is an error, so that
# another backend of an inference server changes speed only. Behaviour: llguidance raises for `uniqueItems` and `not`; the others
# ignore them and bounds of numbers, outlines-core also an `anyOf` beside `properties`. Both forbid what the schema allows:
# members that it does not name, and any text around a pattern without anchors; outlines-core also 1e5. In two of three, members
# have the order of the schema, so a reason that is declared after the score is written after it. A model can thus be unable to
# give the right answer, and a validator behind it stays necessary.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages llguidance==1.9.1 outlines-core==0.2.14 \
  lm-format-enforcer==0.11.3 jsonschema==4.26.0 numpy==2.4.6
export PYTHONPATH="$place/packages"

cat >grammars.py <<'PY'
import json
import re

from jsonschema import Draft202012Validator
from llguidance import LLMatcher, LLTokenizer
from lmformatenforcer import JsonSchemaParser
from outlines_core.json_schema import build_regex_from_schema

TOKENS = LLTokenizer("byte")
NUMBER = {"type": "integer"}


def by_llguidance(schema, text):
    matcher = LLMatcher(TOKENS, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    if matcher.is_error():
        return "refused"
    tokens = list(text.encode())
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def by_outlines(schema, text):
    try:
        return re.fullmatch(build_regex_from_schema(json.dumps(schema)), text) is not None
    except ValueError:
        return "refused"


def by_lmfe(schema, text):
    try:
        parser = JsonSchemaParser(schema)
        for letter in text:
            if letter not in parser.get_allowed_characters():
                return False
            parser = parser.add_character(letter)
        return parser.can_end()
    except Exception:
        return "refused"


def of(schema, **more):
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False} | more


TWO = {"a": NUMBER, "b": NUMBER}
CASES = [
    ("bounds", of(NUMBER | {"minimum": 0, "maximum": 10}), ['{"a": 10}', '{"a": 11}']),
    ("float", of({"type": "number"}), ['{"a": 2.5}', '{"a": 1e5}']),
    ("pattern", of({"type": "string", "pattern": "[0-9]+"}), ['{"a": "12"}', '{"a": "12 days"}']),
    ("date", of({"type": "string", "format": "date"}), ['{"a": "2026-02-28"}', '{"a": "2026-02-30"}', '{"a": "tomorrow"}']),
    ("different", of({"type": "array", "items": NUMBER, "uniqueItems": True}), ['{"a": [1, 2]}', '{"a": [1, 1]}']),
    ("order", {"type": "object", "properties": TWO, "required": ["a", "b"]}, ['{"a": 1, "b": 2}', '{"b": 1, "a": 2}']),
    ("other members", {"type": "object", "properties": {"a": NUMBER}, "required": ["a"]}, ['{"a": 1}', '{"a": 1, "b": 2}']),
    ("keys with a pattern", {"type": "object", "properties": {"a": NUMBER}, "patternProperties": {"^x": NUMBER},
                             "additionalProperties": False}, ['{"a": 1}', '{"a": 1, "x1": 5}', '{"a": 1, "y": 5}']),
    ("one of two", {"type": "object", "properties": TWO, "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                    "additionalProperties": False}, ['{"b": 1}', '{}']),
    ("not", of({"type": "string", "not": {"const": "none"}}), ['{"a": "some"}', '{"a": "none"}']),
]
WORDS = {True: "yes", False: "no", "refused": "schema refused"}
for name, schema, texts in CASES:
    for text in texts:
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        valid = "valid" if validator.is_valid(json.loads(text)) else "invalid"
        admitted = [WORDS[by(schema, text)] for by in (by_llguidance, by_outlines, by_lmfe)]
        print(f"{name}: {text} is {valid}: llguidance {admitted[0]}, outlines-core {admitted[1]}, lm-format-enforcer {admitted[2]}")
PY
python3 grammars.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
bounds: {"a": 10} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
bounds: {"a": 11} is invalid: llguidance no, outlines-core yes, lm-format-enforcer yes
float: {"a": 2.5} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
float: {"a": 1e5} is valid: llguidance yes, outlines-core no, lm-format-enforcer yes
pattern: {"a": "12"} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
pattern: {"a": "12 days"} is valid: llguidance yes, outlines-core no, lm-format-enforcer no
date: {"a": "2026-02-28"} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
date: {"a": "2026-02-30"} is invalid: llguidance no, outlines-core yes, lm-format-enforcer yes
date: {"a": "tomorrow"} is invalid: llguidance no, outlines-core no, lm-format-enforcer yes
different: {"a": [1, 2]} is valid: llguidance schema refused, outlines-core yes, lm-format-enforcer yes
different: {"a": [1, 1]} is invalid: llguidance schema refused, outlines-core yes, lm-format-enforcer yes
order: {"a": 1, "b": 2} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
order: {"b": 1, "a": 2} is valid: llguidance no, outlines-core no, lm-format-enforcer yes
other members: {"a": 1} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
other members: {"a": 1, "b": 2} is valid: llguidance yes, outlines-core no, lm-format-enforcer no
keys with a pattern: {"a": 1} is valid: llguidance yes, outlines-core yes, lm-format-enforcer yes
keys with a pattern: {"a": 1, "x1": 5} is valid: llguidance yes, outlines-core no, lm-format-enforcer no
keys with a pattern: {"a": 1, "y": 5} is invalid: llguidance no, outlines-core no, lm-format-enforcer no
one of two: {"b": 1} is valid: llguidance yes, outlines-core yes, lm-format-enforcer schema refused
one of two: {} is invalid: llguidance no, outlines-core yes, lm-format-enforcer schema refused
not: {"a": "some"} is valid: llguidance schema refused, outlines-core yes, lm-format-enforcer yes
not: {"a": "none"} is invalid: llguidance schema refused, outlines-core yes, lm-format-enforcer yes
END
