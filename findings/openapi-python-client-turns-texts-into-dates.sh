#!/usr/bin/env bash
# A client that openapi-python-client generates changes texts that look like dates: an object that is read and written back
# unchanged has "2026-06-01T00:00:00" where the server had the text "20260601".
#
# Seen with openapi-python-client 0.29.1 against datamodel-code-generator 0.89.0 with pydantic 2.14.4 (PyPI). Guess: of `anyOf` a
# time or a text, a value that is no time of RFC 3339 (`date-time`) stays the text that it is. Behaviour: the time is tried
# first, whatever the order in the document, and each form of ISO 8601 counts as one: the number of an order, a day, a week.
# Nanoseconds of a time are cut. The code that another generator makes of the same document keeps all of them. A script that
# changes one label of an example and stores it has changed the expected answer, and from then on an exact metric calls right
# answers wrong. Leave out `format` where a text may be anything.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet openapi-python-client==0.29.1 datamodel-code-generator==0.89.0 pydantic==2.14.4

cat >make.py <<'PY'
import json

time, text = {"type": "string", "format": "date-time"}, {"type": "string"}
schemas = {name: {"type": "object", "required": ["answer"], "properties": {"answer": {"anyOf": order}}}
           for name, order in (("TimeFirst", [time, text]), ("TextFirst", [text, time]))}
paths = {f"/{name}": {"get": {"responses": {"200": {"description": "one", "content": {"application/json": {"schema": {
    "$ref": f"#/components/schemas/{name}"}}}}}}} for name in schemas}
print(json.dumps({"openapi": "3.1.0", "info": {"title": "examples", "version": "1"}, "paths": paths,
                  "components": {"schemas": schemas}}))
PY
python/bin/python make.py >api.json
PATH="$PWD/python/bin:$PATH" openapi-python-client generate --path api.json --output-path client >log 2>&1
python/bin/datamodel-codegen --input api.json --input-file-type openapi --output-model-type pydantic_v2.BaseModel \
  --output models.py >>log 2>&1

cat >read.py <<'PY'
import sys

sys.path.insert(0, "client")
import models
from examples_client.models import TextFirst, TimeFirst

for text in ("20260601", "2026-06-01", "2026-W05", "2026-06-01T10:00:00.123456789Z", "12:30"):
    written = {
        "time first": TimeFirst.from_dict({"answer": text}).to_dict(),
        "text first": TextFirst.from_dict({"answer": text}).to_dict(),
        "pydantic": models.TimeFirst.model_validate({"answer": text}).model_dump(mode="json"),
    }
    print(f"{text}:")
    for name, value in written.items():
        print(f"  {name} {value['answer']}")
PY
python/bin/python read.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
20260601:
  time first 2026-06-01T00:00:00
  text first 2026-06-01T00:00:00
  pydantic 20260601
2026-06-01:
  time first 2026-06-01T00:00:00
  text first 2026-06-01T00:00:00
  pydantic 2026-06-01
2026-W05:
  time first 2026-01-26T00:00:00
  text first 2026-01-26T00:00:00
  pydantic 2026-W05
2026-06-01T10:00:00.123456789Z:
  time first 2026-06-01T10:00:00.123456+00:00
  text first 2026-06-01T10:00:00.123456+00:00
  pydantic 2026-06-01T10:00:00.123456789Z
12:30:
  time first 12:30
  text first 12:30
  pydantic 12:30
END
