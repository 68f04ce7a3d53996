#!/usr/bin/env bash
# Checks licences, duplicates and sources of the dependencies against deny.toml, and known vulnerabilities where
# the database of RustSec can be fetched. Builds cargo-deny into the per-user cache if it is not there.
#   scripts/deny.sh
# What cannot be checked here is printed as SKIPPED and is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.20.2
INSTALL_SECONDS=900
REACH_SECONDS=30
home=${DENY_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/cargo-deny-$VERSION}

say() { printf 'deny: %s\n' "$*" >&2; }
skip() {
  say "=============================================================================="
  say "SKIPPED: $*"
  say "=============================================================================="
}

find_deny() {
  local found
  for found in "$home/bin/cargo-deny" "$(command -v cargo-deny || true)"; do
    if [ -x "$found" ] && [ "$("$found" --version)" = "cargo-deny $VERSION" ]; then
      echo "$found"
      return 0
    fi
  done
  return 1
}

# In another target directory: its features are not those of this workspace. Without optimization: it runs once.
install_deny() {
  local build
  build=$(mktemp -d "${TMPDIR:-/tmp}/dsrs-deny.XXXXXX")
  say "building cargo-deny $VERSION"
  timeout "$INSTALL_SECONDS" cargo install cargo-deny --version "$VERSION" --locked --debug --quiet \
    --root "$home" --target-dir "$build" >&2 || { rm -rf "$build"; return 1; }
  rm -rf "$build"
}

deny=$(find_deny) || { install_deny && deny=$(find_deny); } || {
  skip "cargo-deny cannot be installed; licences, duplicates, sources and vulnerabilities were NOT checked"
  exit 0
}
# The crates of other systems are not built here and may be missing.
timeout "$INSTALL_SECONDS" cargo fetch --locked --quiet || {
  skip "crates.io cannot be reached; licences, duplicates, sources and vulnerabilities were NOT checked"
  exit 0
}

"$deny" --locked --workspace check --hide-inclusion-graph licenses bans sources

if GIT_TERMINAL_PROMPT=0 timeout "$REACH_SECONDS" git ls-remote -q https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
  "$deny" --locked --workspace check --hide-inclusion-graph advisories
else
  skip "the database of RustSec cannot be reached; vulnerabilities were NOT checked"
fi
