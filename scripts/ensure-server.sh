#!/usr/bin/env bash
# Prints the path of the server program that a script is to start: that of DSRS_SERVER, else the debug build of this clone,
# which it builds. Starts nothing.
set -euo pipefail

if [ -n "${DSRS_SERVER:-}" ]; then
  binary=$DSRS_SERVER
else
  cd "$(dirname "$0")/.."
  SQLX_OFFLINE=true cargo build --locked >&2
  binary=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')/debug/dsrs-server
fi
[ -x "$binary" ] || { printf 'ensure-server: %s cannot be executed: set DSRS_SERVER to a server program\n' "$binary" >&2; exit 1; }
# Absolute: the server starts in a directory of its own.
printf '%s/%s\n' "$(cd "$(dirname "$binary")" && pwd)" "$(basename "$binary")"
