#!/usr/bin/env bash
# Runs the programs of this directory against the server of DSRS_URL. Called by scripts/faces-clients.sh.
#   run.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")"
export PYTHONDONTWRITEBYTECODE=1 LITELLM_LOCAL_MODEL_COST_MAP=True
"$1" -c 'import graphs; graphs.post_graphs()'
timeout 300 "$1" openai_program.py
timeout 300 "$1" pydantic_ai_program.py
timeout 300 "$1" mcp_program.py
