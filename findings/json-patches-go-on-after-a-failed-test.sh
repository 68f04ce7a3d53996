#!/usr/bin/env bash
# A JSON Patch that begins with a `test` of the version changes a document of another version: the library rfc6902 applies the
# operations after a test that fails, and fast-json-patch leaves those before it.
#
# Seen with rfc6902 5.4.0 and fast-json-patch 3.1.1 (npm), jsonpatch 1.48 (PyPI). Guess: a patch whose `test` fails changes
# nothing (RFC 6902, section 5), so a `test` guards an update as `If-Match` does. Behaviour: rfc6902 throws nothing, returns a
# list with the error and goes on; fast-json-patch throws, but the document has the changes so far. Without its third argument,
# fast-json-patch also replaces what does not exist and copies `undefined`, where the others refuse: a `replace` with a wrong
# name adds a member. A page that follows the state of an agent by patches shows a state that the server never had. Apply to a
# copy, look at every result, and pass `true` as the third argument.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet jsonpatch==1.48
npm init -y >/dev/null
npm install --silent rfc6902@5.4.0 fast-json-patch@3.1.1

cat >cases.json <<'JSON'
{
  "document": {"version": 4, "title": "old", "steps": ["a", "b"]},
  "patches": {
    "test fails, then replace": [
      {"op": "test", "path": "/version", "value": 3}, {"op": "replace", "path": "/title", "value": "new"}],
    "replace, then test fails": [
      {"op": "replace", "path": "/title", "value": "new"}, {"op": "test", "path": "/version", "value": 3}],
    "replace of a missing member": [{"op": "replace", "path": "/titel", "value": "new"}],
    "replace beyond the end": [{"op": "replace", "path": "/steps/3", "value": "d"}],
    "remove of a missing member": [{"op": "remove", "path": "/titel"}, {"op": "add", "path": "/version", "value": 5}],
    "all is well": [{"op": "test", "path": "/version", "value": 4}, {"op": "remove", "path": "/steps/0"}]
  }
}
JSON
cat >patch.mjs <<'JS'
import fs from 'node:fs';
import fast from 'fast-json-patch';
import { applyPatch } from 'rfc6902';

const { document, patches } = JSON.parse(fs.readFileSync('cases.json'));
const libraries = {
  rfc6902: (changed, patch) => { applyPatch(changed, patch); },
  'fast-json-patch': (changed, patch) => { fast.applyPatch(changed, patch); },
  'fast-json-patch, true': (changed, patch) => { fast.applyPatch(changed, patch, true); },
};
for (const [name, patch] of Object.entries(patches)) {
  for (const [library, apply] of Object.entries(libraries)) {
    const changed = structuredClone(document);
    let end = 'no exception';
    try {
      apply(changed, structuredClone(patch));
    } catch {
      end = 'exception';
    }
    const isSame = JSON.stringify(changed) === JSON.stringify(document);
    console.log(`${name}; ${library}; ${end}; ${isSame ? 'unchanged' : JSON.stringify(changed)}`);
  }
}
JS
cat >patch.py <<'PY'
import copy
import json

import jsonpatch

with open("cases.json") as file:
    cases = json.load(file)
for name, patch in cases["patches"].items():
    document = copy.deepcopy(cases["document"])
    end = "no exception"
    try:
        document = jsonpatch.apply_patch(document, patch)
    except jsonpatch.JsonPatchException:
        end = "exception"
    changed = "unchanged" if document == cases["document"] else json.dumps(document, separators=(",", ":"))
    print(f"{name}; jsonpatch; {end}; {changed}")
PY
{ python/bin/python patch.py; node patch.mjs; } | LC_ALL=C sort -s -t';' -k1,1 >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
all is well; jsonpatch; no exception; {"version":4,"title":"old","steps":["b"]}
all is well; rfc6902; no exception; {"version":4,"title":"old","steps":["b"]}
all is well; fast-json-patch; no exception; {"version":4,"title":"old","steps":["b"]}
all is well; fast-json-patch, true; no exception; {"version":4,"title":"old","steps":["b"]}
remove of a missing member; jsonpatch; exception; unchanged
remove of a missing member; rfc6902; no exception; {"version":5,"title":"old","steps":["a","b"]}
remove of a missing member; fast-json-patch; no exception; {"version":5,"title":"old","steps":["a","b"]}
remove of a missing member; fast-json-patch, true; exception; unchanged
replace beyond the end; jsonpatch; exception; unchanged
replace beyond the end; rfc6902; no exception; unchanged
replace beyond the end; fast-json-patch; no exception; {"version":4,"title":"old","steps":["a","b",null,"d"]}
replace beyond the end; fast-json-patch, true; exception; unchanged
replace of a missing member; jsonpatch; exception; unchanged
replace of a missing member; rfc6902; no exception; unchanged
replace of a missing member; fast-json-patch; no exception; {"version":4,"title":"old","steps":["a","b"],"titel":"new"}
replace of a missing member; fast-json-patch, true; exception; unchanged
replace, then test fails; jsonpatch; exception; unchanged
replace, then test fails; rfc6902; no exception; {"version":4,"title":"new","steps":["a","b"]}
replace, then test fails; fast-json-patch; exception; {"version":4,"title":"new","steps":["a","b"]}
replace, then test fails; fast-json-patch, true; exception; {"version":4,"title":"new","steps":["a","b"]}
test fails, then replace; jsonpatch; exception; unchanged
test fails, then replace; rfc6902; no exception; {"version":4,"title":"new","steps":["a","b"]}
test fails, then replace; fast-json-patch; exception; unchanged
test fails, then replace; fast-json-patch, true; exception; unchanged
END
