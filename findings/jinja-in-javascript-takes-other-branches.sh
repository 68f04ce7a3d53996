#!/usr/bin/env bash
# Prompts in Jinja take other branches in nunjucks and in @huggingface/jinja, without an error: an empty list of tools is a list of
# tools, a loop with a condition has no rounds, and `strip` of a mark strips nothing.
#
# Seen with nunjucks 3.2.4 and @huggingface/jinja 0.5.11 (npm) against Jinja2 3.1.6 (PyPI). Guess: what a port of Jinja lacks, it
# refuses, so that a template that renders is the same prompt. Behaviour: for nunjucks `[]` is true as in JavaScript, in `if` and
# in `or`; a `{% for … if … %}` renders its `else`; a `set` within a loop changes the variable outside; and the text 1 equals the
# number. @huggingface/jinja, which renders chat templates in the browser, ignores the argument of `strip` and sorts members of a
# dict whose names are digits before the others; its `unique` is exact, where Jinja2 takes "US" for "us". For both, -7 % 3 is -1
# and 2.0 is written as 2. Render prompts in one place, or test each template with empty lists.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages Jinja2==3.1.6 MarkupSafe==3.0.3
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund nunjucks@3.2.4 @huggingface/jinja@0.5.11

cat >cases.json <<'JSON'
{
  "values": {"tools": [], "scores": [9, 2, 7], "grades": {"b": 1, "10": 2, "9": 3}, "labels": ["US", "us", "uk"], "score": 2.0},
  "templates": {
    "empty list, if": "{% if tools %}You have tools.{% else %}You have none.{% endif %}",
    "empty list, or": "{{ (tools or ['no tools']) | join(', ') }}",
    "loop with a condition": "{% for score in scores if score > 5 %}{{ score }} {% else %}no score{% endfor %}",
    "set in a loop": "{% set best = 0 %}{% for score in scores %}{% set best = score %}{% endfor %}best {{ best }}",
    "text and number": "{{ 'equal' if '9' == scores[0] else 'not equal' }}",
    "strip": "{{ '**bold**'.strip('*') }}",
    "order of members": "{% for name, grade in grades.items() %}{{ name }}={{ grade }} {% endfor %}",
    "distinct labels": "{{ labels | unique | join(', ') }}",
    "remainder": "{{ -7 % 3 }}",
    "number": "{{ 2 * score }}"
  }
}
JSON
cat >render.py <<'PY'
import json

import jinja2

with open("cases.json") as file:
    cases = json.load(file)
environment = jinja2.Environment()
rendered = {name: environment.from_string(text).render(**cases["values"]) for name, text in cases["templates"].items()}
with open("jinja2.json", "w") as file:
    json.dump(rendered, file)
PY
cat >render.js <<'JS'
import fs from "node:fs";
import nunjucks from "nunjucks";
import { Template } from "@huggingface/jinja";

const { values, templates } = JSON.parse(fs.readFileSync("cases.json", "utf8"));
const jinja2 = JSON.parse(fs.readFileSync("jinja2.json", "utf8"));
const environment = new nunjucks.Environment(null, { autoescape: false });
const attempt = (render) => {
  try {
    return JSON.stringify(render());
  } catch {
    return "error";
  }
};
for (const [name, text] of Object.entries(templates)) {
  const port = attempt(() => new Template(text).render(values));
  console.log(`${name}: Jinja2 ${JSON.stringify(jinja2[name])}, nunjucks ${attempt(() => environment.renderString(text, values))}, @huggingface/jinja ${port}`);
}
JS
PYTHONPATH="$place/packages" python3 render.py
node render.js >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
empty list, if: Jinja2 "You have none.", nunjucks "You have tools.", @huggingface/jinja "You have none."
empty list, or: Jinja2 "no tools", nunjucks "", @huggingface/jinja "no tools"
loop with a condition: Jinja2 "9 7 ", nunjucks "no score", @huggingface/jinja "9 7 "
set in a loop: Jinja2 "best 0", nunjucks "best 7", @huggingface/jinja "best 0"
text and number: Jinja2 "not equal", nunjucks "equal", @huggingface/jinja "equal"
strip: Jinja2 "bold", nunjucks error, @huggingface/jinja "**bold**"
order of members: Jinja2 "b=1 10=2 9=3 ", nunjucks error, @huggingface/jinja "9=3 10=2 b=1 "
distinct labels: Jinja2 "US, uk", nunjucks error, @huggingface/jinja "US, us, uk"
remainder: Jinja2 "2", nunjucks "-1", @huggingface/jinja "-1"
number: Jinja2 "4.0", nunjucks "4", @huggingface/jinja "4"
END
