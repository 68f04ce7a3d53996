#!/usr/bin/env bash
# A server beside a real streaming standby (scripts/replica_test.py), on Postgres servers of its own. DSRS_SERVER names a
# server program to use instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."

DSRS_BINARY=$(scripts/ensure-server.sh)
PG_BIN=$(scripts/ensure-postgres.sh)
export DSRS_BINARY PG_BIN
if [ ! -x "$PG_BIN/pg_basebackup" ]; then
  printf 'replica-test: SKIPPED: no pg_basebackup beside the Postgres programs; no standby was tried\n' >&2
  exit 0
fi
exec scripts/with-postgres.sh python3 "$PWD/scripts/replica_test.py"
