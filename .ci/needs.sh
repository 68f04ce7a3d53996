# What the steps need on this machine: installs what is missing, and describes what is there. Sourced by .ci/run; knows no step.

# install_missing: apt packages for commands that are not there; nothing is touched when all are.
install_missing() {
  local packages=
  command -v curl >/dev/null 2>&1 || packages="$packages curl ca-certificates"
  command -v cc >/dev/null 2>&1 || packages="$packages build-essential"
  python3 -c 'import venv, ensurepip' 2>/dev/null || packages="$packages python3 python3-venv"
  # The page is opened in a browser (tests/page), and axe-core comes from npm.
  command -v chromium >/dev/null 2>&1 || packages="$packages chromium fonts-dejavu-core fonts-liberation"
  command -v chromedriver >/dev/null 2>&1 || packages="$packages chromium-driver"
  command -v node >/dev/null 2>&1 || packages="$packages nodejs"
  command -v npm >/dev/null 2>&1 || packages="$packages npm"
  # The snippets of the documentation use it.
  command -v jq >/dev/null 2>&1 || packages="$packages jq"
  [ -n "$packages" ] || return 0
  command -v apt-get >/dev/null 2>&1 || die "missing:$packages (no apt-get here: install them by hand)"
  local root=
  [ "$(id -u)" = 0 ] || root=sudo
  $root apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $packages
}

need_rust() {
  command -v cargo >/dev/null 2>&1 || die "cargo is missing: install Rust from https://rustup.rs"
  cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && return 0
  command -v rustup >/dev/null 2>&1 || die "rustfmt or clippy is missing: install the components of your toolchain"
  rustup component add rustfmt clippy
}

# describe_tools: what a step may behave differently with. Installs nothing; a tool that is missing is a line of its own.
describe_tools() {
  local postgres
  uname -sm
  rustc -vV || echo "no rustc"
  python3 --version || echo "no python3"
  node --version 2>/dev/null || echo "no node"
  if postgres=$(scripts/ensure-postgres.sh --find); then "$postgres/postgres" --version; else echo "no postgres"; fi
  # Another one than that of scripts/ensure-restate.sh, which is an input.
  if [ -n "${RESTATE_SERVER:-}" ]; then "$RESTATE_SERVER" --version; fi
  printf 'RUSTFLAGS=%s\n' "${RUSTFLAGS:-}"
}
