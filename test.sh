#!/usr/bin/env bash
# Runs every test of the workspace on a real Postgres; arguments go to `cargo test`.
#   ./test.sh                     all of them
#   ./test.sh --test http graphs  those of the HTTP tests whose name holds "graphs"
set -euo pipefail
cd "$(dirname "$0")"

PG_BIN=$(scripts/ensure-postgres.sh)
export PG_BIN
# The tests that need it fail without it.
RESTATE_SERVER=$(scripts/ensure-restate.sh) || true
export RESTATE_SERVER
# The queries are checked against the committed crates/dsrs-store/.sqlx/, so that no database is needed to build.
export SQLX_OFFLINE=true
exec cargo test --workspace --locked "$@"
