#!/usr/bin/env bash
# Copies the pictures of docs/page.md from the last run of the browser tests (`./test.sh --test page walk`). That of the README
# is taken by scripts/readme_picture.py.
set -euo pipefail
cd "$(dirname "$0")/.."

from="${CARGO_TARGET_DIR:-target}/page-screenshots"
mkdir -p docs/pictures
for name in graph-1280-light graph-editor-1280-light run-1280-dark state-diff-1280-light predictor-1280-dark optimization-1280-light schedule-1280-light schedule-new-1280-light parse-1280-light graph-node-390-dark; do
  cp "$from/$name.png" docs/pictures/
done
