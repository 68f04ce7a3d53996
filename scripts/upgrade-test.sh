#!/usr/bin/env bash
# A rolling upgrade with work in progress (scripts/upgrade_test.py): servers of an older build are replaced by those of this
# one, one by one, and then the engine becomes Restate and Postgres again. OLD_SERVER names the older program,
# DSRS_SERVER the newer one. Not part of the continuous integration, which has one build.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${OLD_SERVER:?names the program of the older build}"
: "${DSRS_SERVER:?names the program of the newer build}"
PG_BIN=$(scripts/ensure-postgres.sh)
RESTATE_SERVER=$(scripts/ensure-restate.sh)
export PG_BIN RESTATE_SERVER OLD_SERVER DSRS_SERVER
exec scripts/with-postgres.sh python3 "$PWD/scripts/upgrade_test.py"
