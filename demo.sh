#!/usr/bin/env bash
# First contact: from a clone to the answer of a real language model, in one command.
#
#   ./demo.sh            do everything, then keep serving until Ctrl-C
#   ./demo.sh --once     do everything, stop everything, report by exit code
#   ./demo.sh --release  build optimised (slower to build; for a look at speed)
#
# The model is the first of these: DSRS_DEMO_MODEL=local; the settings (dsrs.toml, DSRS_MODELS__…, OPENAI_API_KEY,
# OPENAI_BASE_URL); a model of Ollama on this machine; a key of Anthropic, Gemini, Groq, Mistral or OpenRouter in
# the environment; a small real model, which is installed into the per-user cache and served on 127.0.0.1.
# A `dsrs-server` in PATH of this clone's version, or the one that DSRS_SERVER names, is used instead of compiling one;
# DSRS_SERVER= compiles.
# The server stores into its private Postgres under ./data (DSRS_DATA_DIR) and listens on 127.0.0.1:8080,
# or on any free port if that one is in use (DSRS_BIND).
set -euo pipefail
cd "$(dirname "$0")"

READY_SECONDS=90
STOP_SECONDS=40
# How long two idle cores compile when nothing is built, by profile.
COMPILE_MINUTES_debug=4
COMPILE_MINUTES_release=40
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

use_model() { # use_model BASE_URL MODEL [KEY_VARIABLE]: the model `default`, by an OpenAI-compatible endpoint
  export DSRS_MODELS__DEFAULT__BASE_URL=$1 DSRS_MODELS__DEFAULT__MODEL=$2
  [ -z "${3:-}" ] || export DSRS_MODELS__DEFAULT__API_KEY_ENV=$3
}

# The smallest model of Ollama that answers; models for embeddings do not.
ollama_model() {
  curl -fsS -m 2 "${OLLAMA_HOST:-http://127.0.0.1:11434}/api/tags" 2>/dev/null | python3 -c '
import json, sys
try:
    models = json.load(sys.stdin)["models"]
except (ValueError, KeyError):
    sys.exit(1)
models = [m for m in models if "embed" not in m["name"] and "bert" not in m.get("details", {}).get("family", "")]
print(min(models, key=lambda m: m.get("size", 0))["name"]) if models else sys.exit(1)'
}

# A model that is there already. Says what it found.
find_model() {
  local name
  [ "${DSRS_DEMO_MODEL:-}" != local ] || return 1
  if model_is_configured; then
    echo "found your settings: using their model"
  elif name=$(ollama_model); then
    use_model "${OLLAMA_HOST:-http://127.0.0.1:11434}/v1" "$name"
    echo "found Ollama: using its model $name"
  elif [ -n "${ANTHROPIC_API_KEY:-}" ]; then
    use_model https://api.anthropic.com/v1 claude-haiku-4-5 ANTHROPIC_API_KEY
    echo "found ANTHROPIC_API_KEY: using claude-haiku-4-5 (two short requests)"
  elif [ -n "${GEMINI_API_KEY:-}" ]; then
    use_model https://generativelanguage.googleapis.com/v1beta/openai gemini-2.5-flash GEMINI_API_KEY
    echo "found GEMINI_API_KEY: using gemini-2.5-flash (two short requests)"
  elif [ -n "${GROQ_API_KEY:-}" ]; then
    use_model https://api.groq.com/openai/v1 llama-3.1-8b-instant GROQ_API_KEY
    echo "found GROQ_API_KEY: using llama-3.1-8b-instant (two short requests)"
  elif [ -n "${MISTRAL_API_KEY:-}" ]; then
    use_model https://api.mistral.ai/v1 mistral-small-latest MISTRAL_API_KEY
    echo "found MISTRAL_API_KEY: using mistral-small-latest (two short requests)"
  elif [ -n "${OPENROUTER_API_KEY:-}" ]; then
    use_model https://openrouter.ai/api/v1 openai/gpt-4o-mini OPENROUTER_API_KEY
    echo "found OPENROUTER_API_KEY: using openai/gpt-4o-mini (two short requests)"
  else
    return 1
  fi
}

# Installs the small real model, starts it and lets it read the prompts of the example, all beside the build.
start_local_model() {
  REAL_LM_OWNER=$$ REAL_LM_WARM=examples/prompts/capital.json scripts/real-lm.sh start "$lm_dir" >"$data/demo/model.url" 2>"$data/demo/model.log"
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

compile() { # compile COMMAND...: says first how long it takes, if nothing is built
  local minutes=COMPILE_MINUTES_$profile
  if [ ! -x "$binary" ]; then
    echo "Nothing is built here yet: this takes two idle cores about ${!minutes} minutes, and is done once."
    echo "Faster: with a dsrs-server of this version in PATH (or DSRS_SERVER=FILE) nothing is compiled. The archive, the"
    echo "Python wheel and the npm package of a release have it (docs/operations/deploy.md)."
  fi
  python3 scripts/build_progress.py "$@"
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

installed=$(scripts/find-server.sh "$profile") || exit 1
[ -n "$installed" ] || need cargo "install Rust from https://rustup.rs"
need curl "install it with your package manager"
need python3 "install it with your package manager"

data=${DSRS_DATA_DIR:-./data}
mkdir -p "$data/demo"

say "Model"
if find_model; then
  model_job=
else
  echo "found no settings, no Ollama and no key: a small real model is prepared beside the build"
  lm_dir=$data/real-lm
  start_local_model &
  model_job=$!
fi
scripts/ensure-postgres.sh >"$data/demo/postgres.bin" 2>"$data/demo/postgres.log" &
postgres_job=$!

if [ -n "$installed" ]; then
  say "Installed server"
  echo "using $installed: nothing is compiled (DSRS_SERVER= ./demo.sh compiles this clone)"
else
  say "Building ($profile)"
fi
export SQLX_OFFLINE=true
[ -n "$installed" ] || target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
binary=${installed:-${target:-}/$profile/dsrs-server}
build=(cargo build --locked --package dsrs-server --bin dsrs-server)
if [ "$profile" = release ]; then
  build+=(--release)
elif [ ! -x "$binary" ] && ! grep -Eqs '^[[:space:]]*provider' "${DSRS_CONFIG:-dsrs.toml}" && ! env | grep -q '^DSRS_MODELS__.*__PROVIDER='; then
  # A first look needs neither the allocator of releases, nor other protocols than OpenAI's, nor what only a debugger or
  # the next build reads.
  build+=(--no-default-features)
  export CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
fi
[ -n "$installed" ] || compile "${build[@]}"
# The server warns of variables that are no settings.
unset DSRS_SERVER

say "Postgres"
wait "$postgres_job" || { cat "$data/demo/postgres.log" >&2; die "there is no Postgres (see above)"; }
PG_BIN=$(cat "$data/demo/postgres.bin")
export PG_BIN
echo "using the programs in $PG_BIN"

if [ -n "$model_job" ]; then
  say "Small model"
  wait "$model_job" || { cat "$data/demo/model.log" >&2; die "the small model did not start (see above)"; }
  use_model "$(cat "$data/demo/model.url")" smollm2-135m-instruct
  export DSRS_MODELS__DEFAULT__CONSTRAIN=gbnf DSRS_MODELS__DEFAULT__MAX_TOKENS=60 DSRS_MODELS__DEFAULT__TEMPERATURE=0
  echo "it answers at $DSRS_MODELS__DEFAULT__BASE_URL (smollm2-135m-instruct: it follows the format, but its answers are simple)"
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

printf '\nOpen %s/ to see the graph, the run and its trace.\nAPI page   %s/docs/\nServer log %s\n' "$url" "$url" "$log"
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
