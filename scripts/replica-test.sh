#!/usr/bin/env bash
# A server beside a real streaming standby (scripts/replica_test.py), on Postgres servers of its own. DSRS_SERVER names a
# server program to use instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."

export SQLX_OFFLINE=true
if [ -z "${DSRS_SERVER:-}" ]; then
  cargo build --locked
  target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
  DSRS_SERVER=$target/debug/dsrs-server
fi
PG_BIN=$(scripts/ensure-postgres.sh)
export PG_BIN
if [ ! -x "$PG_BIN/pg_basebackup" ]; then
  printf 'replica-test: SKIPPED: no pg_basebackup beside the Postgres programs; no standby was tried\n' >&2
  exit 0
fi
DSRS_BINARY=$(cd "$(dirname "$DSRS_SERVER")" && pwd)/$(basename "$DSRS_SERVER")
export DSRS_BINARY
exec scripts/with-postgres.sh python3 "$PWD/scripts/replica_test.py"
