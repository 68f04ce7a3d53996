#!/usr/bin/env bash
# Backs servers up and restores them (scripts/backup_test.py), on a Postgres of its own. DSRS_SERVER names a server program
# to use instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."

DSRS_BINARY=$(scripts/ensure-server.sh)
PG_BIN=$(scripts/ensure-postgres.sh)
export DSRS_BINARY PG_BIN
exec scripts/with-postgres.sh python3 "$PWD/scripts/backup_test.py"
