#!/usr/bin/env bash
# Installs the wheel and the npm packages of a release into fresh environments, from nothing but their files, and lets
# each installed server answer a run with a private Postgres and a stand-in for a model.
#   scripts/packages/try.sh DIRECTORY VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }

directory=$(realpath "$1")
version=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { printf 'packages: %s\n' "$*" >&2; }
die() { say "$*"; [ ! -s "$scratch/log" ] || cat "$scratch/log" >&2; exit 1; }
command -v npm >/dev/null 2>&1 || die "npm is missing: install it with your package manager"

install_wheel() {
  python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-index --find-links "$directory" dsrs-server
}

install_npm() {
  mkdir "$scratch/npm"
  (cd "$scratch/npm" && npm install --offline --cache "$scratch/npm-cache" --no-audit --no-fund --no-update-notifier \
    "$directory"/dsrs-server-*.tgz)
}

# A capital is somewhere: the stand-in answers other fields without help.
echo '{"continent": "Europe"}' >"$scratch/answers.json"
first_answer() { # first_answer PROGRAM: its server runs the graph that demo.sh runs
  # shellcheck disable=SC2016
  DSRS_SERVER=$1 DSRS_LM_ANSWERS=$scratch/answers.json scripts/with-server.sh \
    sh -c 'DSRS_API_KEYS=$DSRS_API_KEY exec python3 scripts/first_contact.py "$DSRS_URL"'
}

try() { # try WHAT INSTALL PROGRAM
  local since=$SECONDS installed answered
  "$2" >"$scratch/log" 2>&1 || die "the $1 cannot be installed"
  installed=$((SECONDS - since))
  [ "$("$3" --version)" = "dsrs-server $version" ] || die "the $1 is not dsrs-server $version"
  first_answer "$3" >"$scratch/log" 2>&1 || die "the server of the $1 did not answer"
  answered=$((SECONDS - since - installed))
  say "the $1 was installed in $installed s; the first answer took $answered s more, with a new Postgres"
}

try wheel install_wheel "$scratch/venv/bin/dsrs-server"
try "npm package" install_npm "$scratch/npm/node_modules/.bin/dsrs-server"
