#!/usr/bin/env bash
# Reads archived and exported runs with DuckDB (scripts/archive_test.py), on a Postgres of its own. DSRS_SERVER names a
# server program to use instead of building one.
set -euo pipefail
cd "$(dirname "$0")/.."

DSRS_BINARY=$(scripts/ensure-server.sh)
export DSRS_BINARY
target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
python=$target/archive-test/bin/python
[ -x "$python" ] || python3 -m venv "$target/archive-test"
"$python" -m pip install --quiet --disable-pip-version-check 'duckdb==2.0.0' 'pytz==2026.6'
exec scripts/with-postgres.sh "$python" "$PWD/scripts/archive_test.py"
