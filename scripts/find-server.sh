#!/usr/bin/env bash
# Finds a server program that makes compiling unnecessary and prints its path; prints nothing if there is none.
#   scripts/find-server.sh PROFILE
# It is what DSRS_SERVER names, else a `dsrs-server` in PATH of the version of this clone, unless the clone is built already
# with that profile. An empty DSRS_SERVER means that none is wanted.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'find-server: %s\n' "$*" >&2; }
wanted="dsrs-server $(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)"
version_of() { "$1" --version 2>/dev/null | head -n 1 || echo "no program that runs"; }

if [ -n "${DSRS_SERVER:-}" ]; then
  found=$(version_of "$DSRS_SERVER")
  [ "$found" = "$wanted" ] || { say "DSRS_SERVER=$DSRS_SERVER is $found, and this clone is $wanted: set it to another program, or to nothing to compile"; exit 1; }
  echo "$DSRS_SERVER"
elif [ -z "${DSRS_SERVER+set}" ] && [ ! -x "${CARGO_TARGET_DIR:-target}/$1/dsrs-server" ]; then
  installed=$(command -v dsrs-server || true)
  [ -n "$installed" ] || exit 0
  found=$(version_of "$installed")
  [ "$found" = "$wanted" ] || { say "$installed is $found, and this clone is $wanted: it is not used"; exit 0; }
  echo "$installed"
fi
