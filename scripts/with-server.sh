#!/usr/bin/env bash
# Runs a command beside a server with a private Postgres and a stand-in for a language model, and stops them after it.
#   scripts/with-server.sh COMMAND ARGS...
# The command gets DSRS_URL, DSRS_API_KEY, DSRS_LM_URL, DSRS_DATA_DIR and DSRS_BINARY (also as DSRS_SERVER), the server program. DSRS_SERVER names a server program to use instead of building
# one, DSRS_LM_ANSWERS a JSON file with what the model answers, by the name of a field, DSRS_SERVER_ENV further variables
# of the server (NAME=VALUE, separated by blanks).
set -euo pipefail
cd "$(dirname "$0")/.."

READY_SECONDS=180
STOP_SECONDS=60
# The server has a key: without one, the first key that a request creates would close it.
KEY=key-of-the-tests
scratch=
server=
lm=

say() { printf 'with-server: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

end() { # end PID: asks it to end, and waits for that
  [ -n "$1" ] || return 0
  local waited=0
  kill -TERM "$1" 2>/dev/null || true
  while kill -0 "$1" 2>/dev/null; do
    if [ "$waited" -ge $((STOP_SECONDS * 4)) ]; then kill -KILL "$1" 2>/dev/null || true; break; fi
    waited=$((waited + 1))
    sleep 0.25
  done
  wait "$1" 2>/dev/null || true
}

stop_everything() {
  local code=$?
  trap - EXIT
  end "$server"
  end "$lm"
  [ -z "$scratch" ] || rm -rf "$scratch"
  exit "$code"
}

first_line() { # first_line FILE PATTERN PID: waits for it and prints it
  local waited=0
  until grep -m 1 "$2" "$1" 2>/dev/null; do
    kill -0 "$3" 2>/dev/null || { cat "$scratch"/*.log >&2; die "it ended while it started"; }
    [ "$waited" -lt $((READY_SECONDS * 4)) ] || { cat "$scratch"/*.log >&2; die "not ready within $READY_SECONDS s"; }
    waited=$((waited + 1))
    sleep 0.25
  done
}

PG_BIN=$(scripts/ensure-postgres.sh)
export PG_BIN
binary=$(scripts/ensure-server.sh)

# Readable for the user of Postgres, who is not root.
scratch=$(mktemp -d /tmp/dsrs-server.XXXXXX)
chmod 711 "$scratch"
trap stop_everything EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2086
python3 scripts/stand_in_lm.py ${DSRS_LM_ANSWERS:+--answers $DSRS_LM_ANSWERS} >"$scratch/lm" 2>"$scratch/lm.log" </dev/null &
lm=$!
lm_url=$(first_line "$scratch/lm" '^http' "$lm")
# shellcheck disable=SC2086
env -i ${DSRS_SERVER_ENV:-} PATH="$PATH" HOME="$HOME" PG_BIN="$PG_BIN" OPENAI_BASE_URL="$lm_url" DSRS_MODEL=stand-in DSRS_LOG=warn \
  DSRS_API_KEYS="$KEY" DSRS_DATA_DIR="$scratch/data" DSRS_BIND=127.0.0.1:0 \
  "$binary" serve >"$scratch/server" 2>"$scratch/server.log" </dev/null &
server=$!
url=$(first_line "$scratch/server" '^ *address' "$server" | awk '{ print $2 }')

code=0
DSRS_URL=$url DSRS_API_KEY=$KEY DSRS_LM_URL=$lm_url DSRS_DATA_DIR=$scratch/data DSRS_BINARY=$binary DSRS_SERVER=$binary "$@" || code=$?
kill -0 "$server" 2>/dev/null || { tail -n 40 "$scratch/server.log" >&2; die "the server ended"; }
[ "$code" = 0 ] || tail -n 20 "$scratch/server.log" >&2
exit "$code"
