#!/usr/bin/env bash
# Prints the path of axe-core, which checks the accessibility of the page; fetches it by npm the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=4.10.3
directory="${CARGO_TARGET_DIR:-target}/axe-$VERSION"
script="$directory/node_modules/axe-core/axe.min.js"
if [ ! -f "$script" ]; then
  command -v npm >/dev/null 2>&1 || { echo "npm is missing" >&2; exit 1; }
  mkdir -p "$directory"
  npm install --prefix "$directory" --no-audit --no-fund --no-save --silent "axe-core@$VERSION" >&2
fi
printf '%s\n' "$script"
