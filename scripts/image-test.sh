#!/usr/bin/env bash
# What the default command of the image does, without Docker: the entry point with nothing but the key of a provider, and
# programs of Postgres on the machine.
#   scripts/image-test.sh BINARY
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }

binary=$(realpath "$1")
entry=$PWD/deploy/docker/entrypoint.sh
PG_BIN=$(scripts/ensure-postgres.sh)
home=$(mktemp -d /tmp/dsrs-image.XXXXXX)
chmod 711 "$home"
mkdir "$home/bin"
ln -s "$binary" "$home/bin/dsrs-server"
server=

die() { printf 'image-test: %s\n' "$*" >&2; cat "$home/log" >&2; exit 1; }
end() { [ -z "$server" ] || { kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; server=; }; }
trap 'end; rm -rf "$home"' EXIT

start() {
  (cd "$home" && exec env -i PATH="$home/bin:$PATH" HOME="$home" PG_BIN="$PG_BIN" DSRS_HOME="$home" OPENAI_API_KEY=a-key \
    DSRS_BIND=0.0.0.0:0 "$entry" serve) >"$home/log" 2>&1 </dev/null &
  server=$!
  for _ in $(seq 240); do
    url=$(awk '$1 == "address" { sub("0.0.0.0", "127.0.0.1", $2); print $2 }' "$home/log")
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || die "it ended while it started"
    sleep 0.25
  done
  [ -n "$url" ] || die "not ready"
}

status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

start
[ "$(stat -c %a "$home/first-key")" = 600 ] || die "the key is readable for others"
first=$(cat "$home/first-key")
[ ${#first} = 48 ] || die "the key is short"
is_ready() { [ "$(status "$url/readyz")" = 200 ]; }
for _ in $(seq 240); do is_ready && break; sleep 0.25; done
is_ready || die "not ready"
[ "$(status "$url/v1/graphs")" = 401 ] || die "open without a key"
[ "$(status -H "Authorization: Bearer $first" -H 'Content-Type: application/json' "$url/v1/graphs" \
  -d '{"name": "ask", "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}}')" = 201 ] || die "no graph"
end
start
[ "$(cat "$home/first-key")" = "$first" ] || die "the second start made another key"
[ "$(status -H "Authorization: Bearer $first" "$url/v1/graphs/ask")" = 200 ] || die "the graph is gone"
end
(cd "$home" && env -i PATH="$home/bin:$PATH" DSRS_HOME="$home" "$entry" --version) >"$home/log" || die "other commands do not work"
echo "image: its start needs nothing but a key of a provider"
