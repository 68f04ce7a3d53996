#!/usr/bin/env bash
# Runs the snippets of the README and of docs/ (scripts/snippets.py) on a server with a stand-in for a language model.
#   scripts/snippets.sh [PAGE ...]
set -euo pipefail
cd "$(dirname "$0")/.."

command -v jq >/dev/null 2>&1 || { echo "snippets: jq is missing: install it with your package manager" >&2; exit 1; }
DSRS_LM_ANSWERS=$PWD/scripts/snippets_answers.json exec scripts/with-server.sh python3 "$PWD/scripts/snippets.py" "$@"
