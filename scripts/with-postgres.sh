#!/usr/bin/env bash
# Runs a command with DATABASE_URL naming a scratch Postgres on a socket, and takes it away afterwards.
#   scripts/with-postgres.sh scripts/prepare-sqlx.sh
# The command finds the Postgres programs first in its PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }

bin=$(scripts/ensure-postgres.sh)
# Short, because the path of a socket has at most 107 bytes.
scratch=$(mktemp -d /tmp/dsrs-pg.XXXXXX)
server=

# Postgres refuses root: like the server, step down to a user that has a passwd entry.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    local owner=nobody
    ! id postgres >/dev/null 2>&1 || owner=postgres
    (cd "$scratch" && exec setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups "$@")
  else
    "$@"
  fi
}

stop() {
  local code=$?
  trap - EXIT
  if [ -n "$server" ]; then
    as_owner "$bin/pg_ctl" -D "$scratch/data" -m immediate stop >/dev/null 2>&1 || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$scratch"
  exit "$code"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ "$(id -u)" != 0 ] || chown "$(id postgres >/dev/null 2>&1 && echo postgres || echo nobody)" "$scratch"
as_owner "$bin/initdb" -D "$scratch/data" -U postgres -A trust -E UTF8 --no-sync >"$scratch.log" 2>&1 ||
  { cat "$scratch.log" >&2; rm -f "$scratch.log"; exit 1; }
as_owner "$bin/postgres" -D "$scratch/data" -c listen_addresses= -c fsync=off -k "$scratch" >"$scratch.log" 2>&1 </dev/null &
server=$!
waited=0
until [ -S "$scratch/.s.PGSQL.5432" ] && as_owner "$bin/pg_ctl" -D "$scratch/data" status >/dev/null 2>&1; do
  kill -0 "$server" 2>/dev/null && [ "$waited" -lt 120 ] || { cat "$scratch.log" >&2; rm -f "$scratch.log"; exit 1; }
  waited=$((waited + 1))
  sleep 0.25
done
rm -f "$scratch.log"
chmod 711 "$scratch"

export PATH="$bin:$PATH"
export DATABASE_URL="postgres://postgres@localhost/postgres?host=$scratch"
"$@"
