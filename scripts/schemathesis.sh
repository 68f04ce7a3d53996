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
READY_SECONDS=180
STOP_SECONDS=60
# The server has a key: without one, the first key that a request creates would close it.
KEY=key-of-schemathesis
examples=10
home=${SCHEMATHESIS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/schemathesis}
stamp=$home/installed
scratch=
server=
lm=

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

if ! install; then
  say "=============================================================================="
  say "SKIPPED: Schemathesis cannot be installed; the OpenAPI document was NOT tested"
  say "=============================================================================="
  exit 0
fi

PG_BIN=$(scripts/ensure-postgres.sh)
export PG_BIN SQLX_OFFLINE=true
if [ -n "${DSRS_SERVER:-}" ]; then
  binary=$DSRS_SERVER
else
  # The same command as in demo.sh, so that the two share what is built.
  cargo build --locked
  target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
  binary=$target/debug/dsrs-server
fi

# Readable for the user of Postgres, who is not root.
scratch=$(mktemp -d /tmp/dsrs-schemathesis.XXXXXX)
chmod 711 "$scratch"
trap stop_everything EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

python3 scripts/schemathesis/lm.py >"$scratch/lm" 2>"$scratch/lm.log" </dev/null &
lm=$!
lm_url=$(first_line "$scratch/lm" '^http' "$lm")
env -i PATH="$PATH" HOME="$HOME" PG_BIN="$PG_BIN" OPENAI_BASE_URL="$lm_url" DSRS_MODEL=stand-in DSRS_LOG=warn \
  DSRS_API_KEYS="$KEY" DSRS_DATA_DIR="$scratch/data" DSRS_BIND=127.0.0.1:0 \
  "$binary" serve >"$scratch/server" 2>"$scratch/server.log" </dev/null &
server=$!
url=$(first_line "$scratch/server" '^ *address' "$server" | awk '{ print $2 }')
python3 scripts/schemathesis/data.py "$url" "$KEY" >"$scratch/known.json"
export DSRS_SCHEMATHESIS_DATA=$scratch/known.json PYTHONPATH=$PWD/scripts/schemathesis PYTHONDONTWRITEBYTECODE=1

code=0
SCHEMATHESIS_HOOKS=hooks "$home/bin/st" --config-file scripts/schemathesis/schemathesis.toml run "$url/openapi.json" --header "Authorization: Bearer $KEY" \
  --checks all --phases examples,coverage,fuzzing,stateful --max-examples "$examples" "$@" || code=$?
kill -0 "$server" 2>/dev/null || { tail -n 40 "$scratch/server.log" >&2; die "the server ended"; }
[ "$code" = 0 ] || tail -n 20 "$scratch/server.log" >&2
exit "$code"
