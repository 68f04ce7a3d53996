#!/usr/bin/env bash
# Uses graphs as the clients of other protocols do: tools of the official `mcp` package over both transports, models of
# the `openai` package, of LangChain's ChatOpenAI, of litellm, of pydantic-ai and of Instructor, against a real server.
#   scripts/faces-clients.sh
# What PyPI provides is installed in the per-user cache. If that fails, the script says SKIPPED and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

PINS="mcp==2.3.0 openai==2.54.0 langchain-openai==1.7.3 litellm==1.106.2 pydantic-ai-slim[openai]==2.31.1 instructor==1.17.0"
home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/faces-clients

install() {
  [ "$(cat "$home/installed" 2>/dev/null)" != "$PINS" ] || return 0
  rm -rf "$home"
  mkdir -p "$home"
  # shellcheck disable=SC2086
  python3 -m venv "$home" && "$home/bin/pip" install --quiet $PINS >&2 && echo "$PINS" >"$home/installed"
}

if ! install; then
  printf 'faces clients: SKIPPED: PyPI is not available; the protocols were NOT tested with their clients\n' >&2
  exit 0
fi

scripts/with-server.sh scripts/faces_clients/run.sh "$home/bin/python"
