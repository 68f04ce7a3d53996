#!/usr/bin/env bash
# Generates a Rust client of the form of OpenAPI 3.0 with progenitor, compiles it and executes a graph with it, against a real
# server. Not a part of .ci/run: see docs/developing.md. The crates are compiled in the per-user cache.
#   scripts/progenitor-client.sh
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" != within ]; then exec scripts/with-server.sh "$PWD/scripts/progenitor-client.sh" within; fi

home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/progenitor-client
mkdir -p "$home"
cp -R scripts/progenitor_client/. "$home/"
curl -sf "$DSRS_URL/openapi-3.0.json" >"$home/openapi-3.0.json.new"
# The same document compiles nothing again.
cmp -s "$home/openapi-3.0.json.new" "$home/openapi-3.0.json" || mv "$home/openapi-3.0.json.new" "$home/openapi-3.0.json"
DSRS_DOCUMENT=$home/openapi-3.0.json CARGO_TARGET_DIR=$home/target cargo run --quiet --manifest-path "$home/Cargo.toml"
