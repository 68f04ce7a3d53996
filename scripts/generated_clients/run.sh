#!/usr/bin/env bash
# Runs the programs of the generated clients, and of the openai package, against the server of DSRS_URL. Called by scripts/generated-clients.sh.
#   run.sh SCRATCH PYTHON_HOME
set -euo pipefail
cd "$1"
export PATH="$2/bin:$PATH"
python program.py
node program.js
curl -sf "$DSRS_URL/openapi-3.0.json" >openapi-3.0.json
openapi-spec-validator openapi.json openapi-3.0.json
openapi-generator-cli generate -i openapi-3.0.json -g python --package-name dsrs_older_client -o older >older.log 2>&1 ||
  { tail -n 40 older.log >&2; exit 1; }
pip install --quiet --force-reinstall --no-deps ./older
python older_program.py
curl -sf -H "Authorization: Bearer $DSRS_API_KEY" "$DSRS_URL/v1/graphs/ask/openapi.json" >ask.json
openapi-python-client generate --path ask.json --output-path ask >ask.log 2>&1 || { cat ask.log >&2; exit 1; }
if grep -E "Unable to|duplicate" ask.log >&2; then exit 1; fi
pip install --quiet --force-reinstall --no-deps ./ask
mypy --strict graph_program.py
python graph_program.py
python openai_program.py
