#!/usr/bin/env bash
# Schemathesis against the server of DSRS_URL, with things to ask for. Called by scripts/schemathesis.sh.
#   run.sh ST EXAMPLES ARGS...
set -euo pipefail
st=$1
examples=$2
shift 2
known=$(mktemp)
trap 'rm -f "$known"' EXIT
python3 scripts/schemathesis/data.py "$DSRS_URL" "$DSRS_API_KEY" >"$known"
export DSRS_SCHEMATHESIS_DATA=$known PYTHONPATH=$PWD/scripts/schemathesis PYTHONDONTWRITEBYTECODE=1
SCHEMATHESIS_HOOKS=hooks "$st" --config-file scripts/schemathesis/schemathesis.toml run "$DSRS_URL/openapi.json" \
  --header "Authorization: Bearer $DSRS_API_KEY" --checks all --phases examples,coverage,fuzzing,stateful \
  --max-examples "$examples" "$@"
