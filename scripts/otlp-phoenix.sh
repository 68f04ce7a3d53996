#!/usr/bin/env bash
# Shows a run in Arize Phoenix, a collector and viewer for OpenTelemetry: starts Phoenix from PyPI, sends it the spans of
# a run over HTTP and of another one over gRPC, and checks what Phoenix has understood.
#   scripts/otlp-phoenix.sh
# DSRS_SERVER names a server program. If PyPI is not available, the script says SKIPPED and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

PIN="arize-phoenix==20.26.1"
INSTALL_SECONDS=900
READY_SECONDS=240
home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/phoenix

install() {
  [ "$(cat "$home/installed" 2>/dev/null)" != "$PIN" ] || return 0
  rm -rf "$home"
  mkdir -p "$home"
  python3 -m venv "$home" && timeout "$INSTALL_SECONDS" "$home/bin/pip" install --quiet "$PIN" >&2 &&
    echo "$PIN" >"$home/installed"
}

if ! install; then
  printf 'otlp-phoenix: SKIPPED: PyPI is not available; no run was shown in Phoenix\n' >&2
  exit 0
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/dsrs-phoenix.XXXXXX")
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
http=$(free_port)
grpc=$(free_port)
PHOENIX_WORKING_DIR=$scratch PHOENIX_HOST=127.0.0.1 PHOENIX_PORT=$http PHOENIX_GRPC_PORT=$grpc PHOENIX_TELEMETRY_ENABLED=false \
  "$home/bin/phoenix" serve >"$scratch/log" 2>&1 </dev/null &
phoenix=$!
trap 'kill "$phoenix" 2>/dev/null; wait "$phoenix" 2>/dev/null; rm -rf "$scratch"' EXIT

waited=0
until curl -sf -m 2 "http://127.0.0.1:$http/v1/projects" >/dev/null; do
  kill -0 "$phoenix" 2>/dev/null || { tail -n 40 "$scratch/log" >&2; exit 1; }
  [ "$waited" -lt "$READY_SECONDS" ] || { tail -n 40 "$scratch/log" >&2; printf 'otlp-phoenix: not ready\n' >&2; exit 1; }
  waited=$((waited + 1))
  sleep 1
done

common="OTEL_BSP_SCHEDULE_DELAY=100 OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
DSRS_SERVER_ENV="$common OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$http" \
  scripts/with-server.sh python3 scripts/otlp_phoenix.py "http://127.0.0.1:$http"
DSRS_SERVER_ENV="$common OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$grpc OTEL_EXPORTER_OTLP_PROTOCOL=grpc" \
  scripts/with-server.sh python3 scripts/otlp_phoenix.py "http://127.0.0.1:$http"
