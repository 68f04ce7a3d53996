#!/usr/bin/env bash
# The same Mustache prompt has `a &lt; b &amp;&amp; c` in LangChain for Python, and `a < b && c` in LangChain for JavaScript and in
# Langfuse for JavaScript; a section with an empty dict is there for one language only.
#
# Seen with langchain-core 1.8.3 (PyPI), @langchain/core 1.4.0 and @langfuse/client 5.11.1 (npm). Guess: a prompt of a store, in
# Mustache since its values are data, is filled in the same way by the two SDKs of one library. Behaviour: Python follows the
# specification of Mustache, which was made for pages, and writes `&`, `<`, `>` and the double quotation mark as HTML; JavaScript
# switched that off for prompts. True is `True` or `true`, a dict is Python's text or `[object Object]`. Code, JSON and quoted
# passages reach the model in another form than in the playground where the prompt was tuned, and more tokens are paid. Three
# braces, `{{{code}}}`, are the same text everywhere.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install --quiet --root-user-action=ignore --no-compile --target packages langchain-core==1.8.3
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund @langchain/core@1.4.0 @langfuse/client@5.11.1 @langfuse/core@5.11.1 @opentelemetry/api@1.9.1

cat >cases.json <<'JSON'
{
  "values": {"code": "if (a < b && c) say(\"it's\")", "strict": true, "tool": {"name": "search"}, "options": {}, "count": 0},
  "templates": {
    "two braces": "{{code}}",
    "three braces": "{{{code}}}",
    "boolean": "{{strict}}",
    "dict": "{{{tool}}}",
    "section of an empty dict": "{{#options}}with options{{/options}}",
    "section of a zero": "{{#count}}some{{/count}}"
  }
}
JSON
cat >fill.py <<'PY'
import json

from langchain_core.prompts import PromptTemplate

with open("cases.json") as file:
    cases = json.load(file)
filled = {name: PromptTemplate.from_template(text, template_format="mustache").format(**cases["values"])
          for name, text in cases["templates"].items()}
with open("python.json", "w") as file:
    json.dump(filled, file)
PY
cat >fill.js <<'JS'
import fs from "node:fs";
import { PromptTemplate } from "@langchain/core/prompts";
import { TextPromptClient } from "@langfuse/client";

const { values, templates } = JSON.parse(fs.readFileSync("cases.json", "utf8"));
const python = JSON.parse(fs.readFileSync("python.json", "utf8"));
for (const [name, text] of Object.entries(templates)) {
  const langchain = await PromptTemplate.fromTemplate(text, { templateFormat: "mustache" }).format(values);
  const stored = { name: "reply", version: 1, type: "text", prompt: text, config: {}, labels: [], tags: [] };
  console.log(`${name}:\n  LangChain, Python: ${python[name]}\n  LangChain, JavaScript: ${langchain}\n  Langfuse, JavaScript: ${new TextPromptClient(stored).compile(values)}`);
}
JS
PYTHONPATH="$place/packages" python3 fill.py
node fill.js >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
two braces:
  LangChain, Python: if (a &lt; b &amp;&amp; c) say(&quot;it's&quot;)
  LangChain, JavaScript: if (a < b && c) say("it's")
  Langfuse, JavaScript: if (a < b && c) say("it's")
three braces:
  LangChain, Python: if (a < b && c) say("it's")
  LangChain, JavaScript: if (a < b && c) say("it's")
  Langfuse, JavaScript: if (a < b && c) say("it's")
boolean:
  LangChain, Python: True
  LangChain, JavaScript: true
  Langfuse, JavaScript: true
dict:
  LangChain, Python: {'name': 'search'}
  LangChain, JavaScript: [object Object]
  Langfuse, JavaScript: [object Object]
section of an empty dict:
  LangChain, Python: 
  LangChain, JavaScript: with options
  Langfuse, JavaScript: with options
section of a zero:
  LangChain, Python: 
  LangChain, JavaScript: 
  Langfuse, JavaScript: 
END
