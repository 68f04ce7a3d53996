#!/bin/sh
# Writes crates/dsrs-store/.sqlx/ anew: what the compile-time checked queries need to know of the database.
# Makes a scratch database on the server of DATABASE_URL (default: the local one), migrates it, checks the library against it
# without generating code, and drops it. scripts/with-postgres.sh runs it with a Postgres of its own.
# Whether it is current is a test: ./test.sh --test store offline_queries
set -eu
cd "$(dirname "$0")/.."
server="${DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres}"
scratch="dsrs_prepare_$$"
new="$(mktemp -d)"
trap 'psql -qX "$server" -c "drop database if exists $scratch with (force)" || true; rm -rf "$new"' EXIT

psql -qX "$server" -v ON_ERROR_STOP=1 -c "create database $scratch"
# the same server, with its path replaced by the scratch database
url="$(printf '%s' "$server" | sed -E "s#^([a-z]+://[^/?]*)(/[^?]*)?#\1/$scratch#")"
cat migrations/[0-9]*.sql | psql -qX "$url" -v ON_ERROR_STOP=1

# the macros only run again if the library is compiled again
touch crates/dsrs-store/src/lib.rs
SQLX_OFFLINE=false DATABASE_URL="$url" SQLX_OFFLINE_DIR="$new" cargo check --quiet --package dsrs-store --lib --locked

stored=crates/dsrs-store/.sqlx
rm -rf "$stored" && mkdir "$stored" && cp "$new"/*.json "$stored/"
echo "wrote $(ls "$stored" | wc -l) queries to $stored/"
