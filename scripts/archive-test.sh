#!/usr/bin/env bash
# Reads archived and exported runs with DuckDB (scripts/archive_test.py), on a Postgres of its own. DSRS_SERVER names a
# server program to use instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."

export SQLX_OFFLINE=true
target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
if [ -z "${DSRS_SERVER:-}" ]; then
  cargo build --locked
  DSRS_SERVER=$target/debug/dsrs-server
fi
DSRS_BINARY=$(cd "$(dirname "$DSRS_SERVER")" && pwd)/$(basename "$DSRS_SERVER")
export DSRS_BINARY
python=$target/archive-test/bin/python
[ -x "$python" ] || python3 -m venv "$target/archive-test"
"$python" -m pip install --quiet --disable-pip-version-check 'duckdb==2.0.0' 'pytz==2026.6'
exec scripts/with-postgres.sh "$python" "$PWD/scripts/archive_test.py"
