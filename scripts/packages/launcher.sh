#!/bin/sh
# Starts the program of this platform, which npm has installed as a package of its own.
# The program replaces the launcher, so that signals reach it once: a second one would cancel its running work.
set -eu

source="build the program or its image from the source: @REPOSITORY@#readme"
die() { printf 'dsrs-server: %s\n' "$*" >&2; exit 1; }

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64 | Linux-amd64) name=linux-x64 ;;
  Linux-aarch64 | Linux-arm64) name=linux-arm64 ;;
  Darwin-x86_64) name=darwin-x64 ;;
  Darwin-arm64) name=darwin-arm64 ;;
  *) die "there is no package for $(uname -s) on $(uname -m): $source" ;;
esac

# Package managers link to this file.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case "$link" in /*) self=$link ;; *) self=$(dirname "$self")/$link ;; esac
done

# The package is beside this one, or in a directory of packages further up.
place=$(cd "$(dirname "$self")/.." && pwd -P)
until [ -f "$place/node_modules/@dsrs-server/$name/bin/dsrs-server" ]; do
  [ -n "$place" ] || die "the package @dsrs-server/$name, which contains the program, is not installed.
If optional packages were left out, install again with them: npm install --include=optional dsrs-server
On a Linux without glibc, such as Alpine, $source"
  place=${place%/*}
done
package=$place/node_modules/@dsrs-server/$name

needs=$(cat "$package/glibc-version" 2>/dev/null || true)
has=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
has=${has#glibc }
if [ -n "$needs" ] && [ -n "$has" ] && [ "${has#2.}" -lt "${needs#2.}" ] 2>/dev/null; then
  die "the program needs glibc $needs or later, and this system has $has: use a newer system, or $source"
fi
[ -x "$package/bin/dsrs-server" ] || die "$package/bin/dsrs-server is not executable: install dsrs-server again"
exec "$package/bin/dsrs-server" "$@"
