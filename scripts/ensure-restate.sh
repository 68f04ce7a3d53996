#!/usr/bin/env bash
# Makes sure that the server of Restate is here and prints its path. RESTATE_SERVER names one to use instead of getting it:
# from its npm package, pinned by version and checksum, into the directory of the build. Starts nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=1.7.12
cache=${CARGO_TARGET_DIR:-$PWD/target}/restate/$VERSION

say() { printf 'ensure-restate: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# sha512 of the npm package of each platform.
checksum() {
  case "$1" in
    linux-x64) echo 511a2d275008a9a4820e444c9783ab41f4cb1fe358b8e65bdd9b0fef0c718ae001ea99dc80f8535184af7a04c5e4f4eb0128673721cda63bbd9237f63b7431a0 ;;
    linux-arm64) echo 695ed8c56bcf869f3c32342d39b183843093c0205aebcc3064e00c989a83ade3b46ae1d8b927cea9a6c4c7823dd1ca19b31df34a136eb29a5b4cf2a9ace6be77 ;;
    darwin-arm64) echo a47ad931a69e049c574e0235f561bf689bf1b940d0da78520c410956c79365089311d27b85ba0f961bd869c817204da23272cc99690de572255eaa2c1caf01ca ;;
    darwin-x64) echo 6514b5924dd2e29cc88aea76211450dde1e8289499e37146e2b0deed46c6156c19fd8cf4c520dae3fdff922bb068c1d75acfc2b0ab497b4b21c7c2424740ced6 ;;
  esac
}

platform() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64 | Linux-arm64) echo linux-arm64 ;;
    Darwin-arm64) echo darwin-arm64 ;;
    Darwin-x86_64) echo darwin-x64 ;;
    *) return 1 ;;
  esac
}

sha512_of() { # sha512_of FILE
  if has sha512sum; then sha512sum "$1"; else shasum -a 512 "$1"; fi | cut -d' ' -f1
}

install_by_npm() {
  local platform scratch archive found
  has npm || die "no server of Restate here and no npm to get it: install npm, or set RESTATE_SERVER"
  platform=$(platform) || die "no package for $(uname -s) on $(uname -m): set RESTATE_SERVER"
  say "unpacking Restate $VERSION into $cache"
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/.unpack-XXXXXX")
  # shellcheck disable=SC2064  # the directory of now is meant
  trap "rm -rf '$scratch'" EXIT
  (cd "$scratch" && npm pack --silent "@restatedev/restate-server-$platform@$VERSION" >&2)
  archive=$(find "$scratch" -name '*.tgz' | head -n 1)
  found=$(sha512_of "$archive")
  [ "$found" = "$(checksum "$platform")" ] || die "the package's checksum is $found, which is not the pinned one: not used"
  tar -xzf "$archive" -C "$scratch"
  chmod +x "$scratch/package/bin/restate-server"
  # Moved whole, so that no other run sees half of it; one may have been faster.
  mv -n "$scratch/package/bin/restate-server" "$cache/restate-server"
}

if [ -n "${RESTATE_SERVER:-}" ]; then
  [ -x "$RESTATE_SERVER" ] || die "RESTATE_SERVER is $RESTATE_SERVER, which cannot be executed"
  echo "$RESTATE_SERVER"
  exit 0
fi
[ -x "$cache/restate-server" ] || install_by_npm
echo "$cache/restate-server"
