#!/usr/bin/env bash
# First contact: from a clone to the answer of a real language model, in one command.
#
#   ./demo.sh            do everything, then keep serving until Ctrl-C
#   ./demo.sh --once     do everything, stop everything, report by exit code
#   ./demo.sh --release  build optimised (slower to build; for a look at speed)
#
# If OPENAI_API_KEY or OPENAI_BASE_URL is set or the configuration has models, the demo uses your model;
# otherwise it installs a small real one into the per-user cache and serves it on 127.0.0.1.
# The server stores into its private Postgres under ./data (DSRS_DATA_DIR) and listens on 127.0.0.1:8080,
# or on any free port if that one is in use (DSRS_BIND).
set -euo pipefail
cd "$(dirname "$0")"

READY_SECONDS=90
STOP_SECONDS=40
once=no
# Debug by default: a cold debug build takes a fraction of the time of a release build, and the model dominates here.
profile=debug
server=
lm_dir=

say() { printf '\n== %s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; }

for argument in "$@"; do
  case "$argument" in
    --once) once=yes ;;
    --release) profile=release ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

stop_server() {
  local waited=0
  [ -n "$server" ] || return 0
  kill -TERM "$server" 2>/dev/null || true
  while kill -0 "$server" 2>/dev/null; do
    if [ "$waited" -ge $((STOP_SECONDS * 4)) ]; then
      kill -KILL "$server" 2>/dev/null || true
      break
    fi
    waited=$((waited + 1))
    sleep 0.25
  done
  wait "$server" 2>/dev/null || true
  server=
}

stop_everything() {
  local code=$?
  trap - EXIT
  trap '' INT TERM
  [ -z "$server$lm_dir" ] || printf '\ndemo: stopping\n'
  stop_server
  [ -z "$lm_dir" ] || scripts/real-lm.sh stop "$lm_dir"
  exit "$code"
}
trap stop_everything EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need() { command -v "$1" >/dev/null 2>&1 || die "$1 is missing: $2"; }

is_free() { # is_free PORT: nobody listens on it
  python3 - "$1" <<'PY'
import socket, sys
with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        probe.bind(("127.0.0.1", int(sys.argv[1])))
    except OSError:
        sys.exit(1)
PY
}

any_free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

model_is_configured() {
  local config=${DSRS_CONFIG:-dsrs.toml}
  [ -n "${OPENAI_API_KEY:-}${OPENAI_BASE_URL:-}" ] && return 0
  env | grep -q '^DSRS_MODELS__' && return 0
  [ -f "$config" ] && grep -Eq '^[[:space:]]*\[models\.' "$config"
}

choose_address() {
  [ -z "${DSRS_BIND:-}" ] || return 0
  if is_free 8080; then
    DSRS_BIND=127.0.0.1:8080
  else
    DSRS_BIND=127.0.0.1:$(any_free_port)
    echo "port 8080 is in use: using $DSRS_BIND"
  fi
  export DSRS_BIND
}

wait_until_ready() { # wait_until_ready URL LOG
  local waited=0
  until curl -fsS -m 5 -o /dev/null "$1/readyz" 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || { tail -n 20 "$2" >&2; die "the server ended while it started (its log: $2)"; }
    [ "$waited" -lt $((READY_SECONDS * 4)) ] || { tail -n 20 "$2" >&2; die "the server was not ready within $READY_SECONDS s (its log: $2)"; }
    waited=$((waited + 1))
    sleep 0.25
  done
}

need cargo "install Rust from https://rustup.rs"
need curl "install it with your package manager"
need python3 "install it with your package manager"

say "Postgres"
PG_BIN=$(scripts/ensure-postgres.sh)
export PG_BIN
echo "using the programs in $PG_BIN"

say "Building ($profile)"
export SQLX_OFFLINE=true
if [ "$profile" = release ]; then cargo build --release --locked --bin dsrs-server; else cargo build --locked --bin dsrs-server; fi
target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
binary=$target/$profile/dsrs-server

data=${DSRS_DATA_DIR:-./data}
mkdir -p "$data/demo"

say "Model"
if model_is_configured; then
  echo "using the configured model"
else
  lm_dir=$data/real-lm
  OPENAI_BASE_URL=$(REAL_LM_OWNER=$$ scripts/real-lm.sh start "$lm_dir")
  export OPENAI_BASE_URL
  export DSRS_MODEL=${DSRS_MODEL:-smollm2-135m-instruct}
  echo "a small real model answers at $OPENAI_BASE_URL ($DSRS_MODEL: it follows the format, but its answers are simple)"
fi

say "Server"
choose_address
# The demo uses the private Postgres, never a database of yours.
[ -z "${DATABASE_URL:-}" ] || { echo "DATABASE_URL is ignored: the demo uses a private Postgres"; unset DATABASE_URL; }
url=http://$DSRS_BIND
log=$data/demo/server.log
"$binary" serve >"$log" 2>&1 </dev/null &
server=$!
wait_until_ready "$url" "$log"
# The banner ends at its first empty line.
sed -n '/^$/q;p' "$log"

say "First contact"
python3 scripts/first_contact.py "$url" || { tail -n 20 "$log" >&2; die "the example did not run (the server's log: $log)"; }

printf '\nAPI page   %s/docs/\nServer log %s\n' "$url" "$log"
if [ "$once" = yes ]; then
  exit 0
fi
cat <<END

Serving until Ctrl-C. Try:
  curl -s $url/v1/graphs/capital/execute -H 'content-type: application/json' -d '{"inputs": {"country": "Germany"}}'
  python3 examples/python/quickstart.py $url
END
# `wait` returns at once when a trap runs; a server that ends by itself ends the demo with its code.
wait "$server"
