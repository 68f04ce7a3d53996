#!/usr/bin/env bash
# Checks the alert rules of deploy/prometheus with promtool, and runs their tests. PROMTOOL names a promtool. Without one
# it is taken out of the Debian package `prometheus`, which is unpacked and not installed. If that fails nothing is
# checked, and the script says so; with DSRS_REQUIRE_PROMTOOL=1 it fails.
set -euo pipefail
cd "$(dirname "$0")/.."

place=${CARGO_TARGET_DIR:-$PWD/target}/promtool

# unpack: promtool of the Debian package, below the target directory.
unpack() {
  command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 || return 1
  mkdir -p "$place"
  (cd "$place" && apt-get download -qq prometheus && dpkg -x prometheus_*.deb . && rm prometheus_*.deb) >/dev/null 2>&1
}

promtool=${PROMTOOL:-promtool}
if ! command -v "$promtool" >/dev/null 2>&1; then
  promtool=$place/usr/bin/promtool
  [ -x "$promtool" ] || unpack || true
fi
if ! [ -x "$(command -v "$promtool")" ]; then
  printf 'alerts-check: SKIPPED: no promtool here, the rules were NOT checked (apt-get install prometheus, or set PROMTOOL)\n' >&2
  [ -z "${DSRS_REQUIRE_PROMTOOL:-}" ] || exit 1
  exit 0
fi
"$promtool" check rules deploy/prometheus/dsrs-server.rules.yml
"$promtool" test rules deploy/prometheus/dsrs-server.test.yml
