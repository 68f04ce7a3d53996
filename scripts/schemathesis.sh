#!/usr/bin/env bash
# Tests a server against its OpenAPI document: requests made from the document by Schemathesis, all checks, all
# phases, a fixed seed. The exceptions, with reasons, are in scripts/schemathesis/.
#   scripts/schemathesis.sh                 what the continuous integration runs, about three minutes
#   scripts/schemathesis.sh --examples 500  a longer search
#   scripts/schemathesis.sh -- ARGS         further arguments of `st run`, such as --include-path /v1/parse
# DSRS_SERVER names a server program to test instead of building one.
# Schemathesis gets a virtual environment of its own in the per-user cache. If it cannot be installed, the script
# says SKIPPED and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

PINS="schemathesis==4.32.5 hypothesis==6.170.15 jsonschema_rs==0.60.3"
ATTEMPTS=3
examples=10
home=${SCHEMATHESIS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/schemathesis}
stamp=$home/installed

say() { printf 'schemathesis: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

while [ $# -gt 0 ]; do
  case "$1" in
    --examples) examples=$2; shift 2 ;;
    --) shift; break ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

install() {
  [ "$(cat "$stamp" 2>/dev/null)" != "$PINS" ] || return 0
  local attempt
  for attempt in $(seq "$ATTEMPTS"); do
    rm -rf "$home"
    mkdir -p "$home"
    # shellcheck disable=SC2086
    if python3 -m venv "$home" && "$home/bin/python" -m pip install --quiet --retries 2 $PINS >&2; then
      echo "$PINS" >"$stamp"
      return 0
    fi
    say "attempt $attempt of $ATTEMPTS to install it failed"
    [ "$attempt" = "$ATTEMPTS" ] || sleep $((attempt * 10))
  done
  return 1
}

if ! install; then
  say "=============================================================================="
  say "SKIPPED: Schemathesis cannot be installed; the OpenAPI document was NOT tested"
  say "=============================================================================="
  exit 0
fi

exec scripts/with-server.sh scripts/schemathesis/run.sh "$home/bin/st" "$examples" "$@"
