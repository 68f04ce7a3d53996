#!/usr/bin/env bash
# Publishes the packages that scripts/release.sh has made (docs/releasing.md).
#   scripts/publish.sh python                 the wheels, by twine, which gets an environment of its own in the per-user cache
#   scripts/publish.sh npm                    the npm packages, by npm
#   scripts/publish.sh --dry-run [KIND]       checks them as far as that needs no account, and publishes nothing
#   scripts/publish.sh --from DIRECTORY KIND  instead of target/release-artefacts
# What is published already is left out, so that an interrupted command can be repeated.
# Accounts are those of the clients: TWINE_USERNAME and TWINE_PASSWORD or ~/.pypirc; `npm login`.
set -euo pipefail
cd "$(dirname "$0")/.."

PIN=twine==7.0.0
home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/twine
directory=${CARGO_TARGET_DIR:-target}/release-artefacts
dry_run=no
kinds=

say() { printf 'publish: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; }

while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry_run=yes ;;
    --from) directory=${2:?--from needs a directory}; shift ;;
    python | npm) kinds="$kinds $1" ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
[ -n "$kinds" ] || [ "$dry_run" = no ] || kinds="python npm"
[ -n "$kinds" ] || { usage >&2; exit 2; }

install_twine() {
  [ "$(cat "$home/installed" 2>/dev/null)" != "$PIN" ] || return 0
  rm -rf "$home"
  mkdir -p "$home"
  python3 -m venv "$home" && "$home/bin/pip" install --quiet --disable-pip-version-check "$PIN" >&2 && echo "$PIN" >"$home/installed"
}

publish_python() {
  if ! install_twine; then
    [ "$dry_run" = yes ] || die "twine cannot be installed"
    say "SKIPPED: twine cannot be installed; the wheel was NOT checked by it"
    return 0
  fi
  "$home/bin/twine" check --strict "$directory"/*.whl >&2
  [ "$dry_run" = yes ] || "$home/bin/twine" upload --non-interactive --skip-existing "$directory"/*.whl
}

publish_npm_package() { # publish_npm_package NAME FILE
  local arguments=(--access public --tag latest)
  [ -f "$2" ] || return 0
  case "$version" in *-*) arguments=(--access public --tag next) ;; esac
  if [ "$dry_run" = yes ]; then
    arguments+=(--dry-run --offline)
  elif [ "$(npm view "$1@$version" version 2>/dev/null)" = "$version" ]; then
    say "$1 $version is published already"
    return 0
  fi
  npm publish "${arguments[@]}" "$(realpath "$2")"
}

# The packages with the programs come first: the other one is of no use without them.
publish_npm() {
  local file name
  command -v npm >/dev/null 2>&1 || die "npm is missing: install it with your package manager"
  [ -f "$directory/dsrs-server-$version.tgz" ] || die "$directory has no dsrs-server-$version.tgz: run scripts/release.sh"
  for file in "$directory"/dsrs-server-{linux,darwin}-*-"$version".tgz; do
    name=$(basename "$file" "-$version.tgz")
    publish_npm_package "@dsrs-server/${name#dsrs-server-}" "$file"
  done
  publish_npm_package dsrs-server "$directory/dsrs-server-$version.tgz"
}

[ -f "$directory/SHA256SUMS" ] || die "$directory has no SHA256SUMS: run scripts/release.sh"
(cd "$directory" && sha256sum --quiet --check SHA256SUMS) || die "$directory is not what scripts/release.sh has made"
if [ "$dry_run" = no ]; then
  [ ! -f "$directory/DRY-RUN" ] || die "$directory is from a dry run: run scripts/release.sh without --dry-run"
  version=$(python3 scripts/release_agree.py)
else
  version=$(python3 scripts/release_agree.py --dry-run 2>/dev/null)
fi
for kind in $kinds; do
  "publish_$kind"
done
