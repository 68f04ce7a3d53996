#!/usr/bin/env bash
# Makes the artefacts of a release (docs/releasing.md): an archive with the binary, a Python wheel, npm packages, checksums,
# a bill of materials, an image.
#   scripts/release.sh                       for the tagged commit; builds, which takes about nine minutes on two cores
#   scripts/release.sh --dry-run             before the tag; what disagrees is said and no error; quick, so files are large
#   scripts/release.sh --binary FILE         with this binary instead of building one
#   scripts/release.sh --output DIRECTORY    instead of target/release-artefacts
#   scripts/release.sh --no-image            without the image
set -euo pipefail
cd "$(dirname "$0")/.."

binary=
output=${CARGO_TARGET_DIR:-target}/release-artefacts
agree=()
image=yes
dry_run=no
level=9
# Libraries that every Linux with glibc has; nothing else may be linked.
SYSTEM_LIBRARIES='^(linux-vdso|libc|libm|libgcc_s|libdl|libpthread|librt|ld-linux[-a-z0-9_]*)\.so'

say() { printf 'release: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; }

while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry_run=yes; agree=(--dry-run); level=1 ;;
    --no-image) image=no ;;
    --binary) binary=${2:?--binary needs a file}; shift ;;
    --output) output=${2:?--output needs a directory}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done

version=$(python3 scripts/release_agree.py "${agree[@]}")
host=$(rustc -vV | sed -n 's/^host: //p')
name=dsrs-server-$version-$host

if [ -z "$binary" ]; then
  SQLX_OFFLINE=true cargo build --release --locked --package dsrs-server --bin dsrs-server
  binary=${CARGO_TARGET_DIR:-target}/release/dsrs-server
fi
[ "$("$binary" --version)" = "dsrs-server $version" ] || die "$binary is $("$binary" --version), not version $version"
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT

rm -rf "$output"
mkdir -p "$output/$name/completions"
place=$output/$name
if [ "$dry_run" = yes ]; then
  # Debug information is most of a debug binary. scripts/publish.sh refuses what has the mark.
  strip -o "$trial/dsrs-server" "$binary"
  binary=$trial/dsrs-server
  touch "$output/DRY-RUN"
fi
install -m 755 "$binary" "$place/dsrs-server"
install -m 644 LICENSE README.md CHANGELOG.md openapi/openapi.json "$place"
python3 scripts/notices.py >"$place/THIRD-PARTY-NOTICES.txt"
"$binary" man >"$place/dsrs-server.1"
for shell in bash zsh fish; do "$binary" completions "$shell" >"$place/completions/dsrs-server.$shell"; done
python3 scripts/sbom.py --binary "$binary" >"$output/$name.cdx.json"

# The same commit and binary give the same archive, byte by byte.
when=$(git log -1 --format=%ct)
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$when" --directory "$output" "$name" |
  gzip --no-name "-$level" >"$output/$name.tar.gz"
packages=$(python3 scripts/packages/make.py --program "$binary" --host "$host" --notices "$place/THIRD-PARTY-NOTICES.txt" \
  --bill "$output/$name.cdx.json" --when "$when" --output "$output" --level "$level")
rm -rf "$place"
# shellcheck disable=SC2086
(cd "$output" && sha256sum "$name.tar.gz" "$name.cdx.json" $packages >SHA256SUMS)

# What was made is what a user unpacks or installs.
(cd "$output" && sha256sum --quiet --check SHA256SUMS) || die "the checksums are wrong"
tar --extract --gzip --file "$output/$name.tar.gz" --directory "$trial"
[ "$("$trial/$name/dsrs-server" --version)" = "dsrs-server $version" ] || die "the binary of the archive does not run"
foreign=$(ldd "$trial/$name/dsrs-server" | awk '{ n = $1; sub(".*/", "", n); print n }' | grep -Ev "$SYSTEM_LIBRARIES" || true)
[ -z "$foreign" ] || die "the binary needs libraries that a system may lack: $foreign"
python3 - "$output/$name.cdx.json" <<'PY'
import json, sys
bill = json.load(open(sys.argv[1], encoding="utf-8"))
refs = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
assert bill["bomFormat"] == "CycloneDX" and len(bill["components"]) > 100, "the bill of materials is short"
assert all(set(one["dependsOn"]) <= refs for one in bill["dependencies"]), "a dependency is not a component"
assert all("licenses" in part and "hashes" in part for part in bill["components"]), "a component has no licence or checksum"
PY
glibc=$(objdump -T "$binary" 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -n 1 || true)
scripts/packages/try.sh "$output" "$version"
[ "$dry_run" = no ] || scripts/publish.sh --dry-run --from "$output"
say "$name.tar.gz: $(du -h "$output/$name.tar.gz" | cut -f1), needs ${glibc:-an unknown glibc} or later"

if [ "$image" = no ]; then
  say "no image, as asked"
elif docker info >/dev/null 2>&1; then
  docker build --tag "dsrs-server:$version" .
  say "image dsrs-server:$version"
else
  say "SKIPPED: no Docker here; the image was NOT built"
fi
cat "$output/SHA256SUMS"
