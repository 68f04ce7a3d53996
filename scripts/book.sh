#!/usr/bin/env bash
# Builds the book of docs/ with a search into target/book/html, and fails on a link that leads nowhere.
#   scripts/book.sh          build
#   scripts/book.sh --open   build, then print the address of its first page
# mdBook is a program of its own, pinned here; it is built once into the per-user cache if it is not on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.5.4
home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/mdbook-$VERSION
source=${CARGO_TARGET_DIR:-target}/book/src
book=${CARGO_TARGET_DIR:-target}/book/html

find_mdbook() {
  local found
  for found in "$(command -v mdbook || true)" "$home/bin/mdbook"; do
    [ -x "$found" ] && [ "$("$found" --version)" = "mdbook v$VERSION" ] && { echo "$found"; return 0; }
  done
  return 1
}

if ! mdbook=$(find_mdbook); then
  printf 'book: building mdBook %s once, into %s\n' "$VERSION" "$home" >&2
  if ! cargo install --quiet --locked --no-default-features --features search --root "$home" "mdbook@$VERSION" >&2; then
    printf 'book: SKIPPED: mdBook %s could not be built (no network?); the book was NOT built\n' "$VERSION" >&2
    exit 0
  fi
  mdbook=$home/bin/mdbook
fi

python3 scripts/book.py stage "$source"
rm -rf "$book"
"$mdbook" build "$(dirname "$source")" --dest-dir "$PWD/$book"
python3 scripts/book.py check "$source" "$book"
[ "${1:-}" != --open ] || printf 'file://%s/index.html\n' "$PWD/$book"
