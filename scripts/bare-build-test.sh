#!/usr/bin/env bash
# A server that was built without features refuses what needs them, and says so.
#
#   scripts/bare-build-test.sh SERVER     SERVER: built with --no-default-features
set -euo pipefail
server=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

refused() { # refused SENTENCE COMMAND…: the command fails, and its output has the sentence
  local sentence=$1 output
  shift
  if output=$(cd "$place" && env -i PATH="$PATH" HOME="$place" timeout 120 "$@" 2>&1); then
    printf 'not refused: %s\n' "$*" >&2
    exit 1
  fi
  if [[ $output != *"$sentence"* ]]; then
    printf '%s\ndoes not say: %s\nbut: %s\n' "$*" "$sentence" "$output" >&2
    exit 1
  fi
}

serve=("$server" serve "--data-dir=$place/data" --bind=127.0.0.1:0)
refused 'without the feature `archive`' "$server" runs export --to file:///tmp
refused 'without the feature `otlp-grpc`' env OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=grpc "${serve[@]}"
refused 'without the feature `restate`' env DSRS_ENGINE=restate DSRS_RESTATE_INGRESS=http://127.0.0.1:1 DSRS_RESTATE_ADMIN=http://127.0.0.1:1 "${serve[@]}"
refused 'without the feature `archive`' env DSRS_ARCHIVE_URL="file://$place/archive" "${serve[@]}"
echo "a build without features says what it leaves out"
