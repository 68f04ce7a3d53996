#!/usr/bin/env bash
# Checks the Python client: mypy, ruff, and its tests against a real server with a stand-in for a language model, those of
# `dsrs_client.dspy` with the real DSPy.
#   scripts/python-client.sh [ARGS of pytest]
# The tests without DSPy also run on every other Python from 3.10 to 3.14 that is found (in PATH, or of pyenv).
# What PyPI provides is installed in the per-user cache. If that fails, the script says SKIPPED and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

PINS="httpx==0.28.1 pydantic==2.14.3 pytest==9.2.0 mypy==2.4.1 ruff==0.17.6 hatchling dspy==3.4.1 optuna==5.0.0"
home=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/python-client

install() {
  [ "$(cat "$home/installed" 2>/dev/null)" != "$PINS" ] || return 0
  rm -rf "$home"
  mkdir -p "$home"
  # shellcheck disable=SC2086
  python3 -m venv "$home" && "$home/bin/pip" install --quiet $PINS >&2 && echo "$PINS" >"$home/installed"
}

if ! install; then
  printf 'python client: SKIPPED: PyPI is not available; the client was NOT tested\n' >&2
  exit 0
fi

cd clients/python
"$home/bin/ruff" check src tests
"$home/bin/mypy" --python-executable "$home/bin/python"
wheel=$(mktemp -d)
trap 'rm -rf "$wheel"' EXIT
"$home/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$wheel" . >&2
"$home/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"/*.whl >&2
"$home/bin/mypy" --python-executable "$home/bin/python" --config-file tests/dspy/mypy.ini
../../scripts/with-server.sh "$home/bin/python" -m pytest -q "$PWD/tests" --ignore "$PWD/tests/dspy" "$@"

# pyenv's shims exist for versions that are not active, too.
for minor in 10 11 12 13 14; do
  python=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.$minor.*/bin/python 2>/dev/null | head -n 1 || true)
  [ -n "$python" ] || python=$(command -v "python3.$minor" || true)
  if [ -z "$python" ] || ! "$python" -c "import sys; sys.exit(sys.version_info[1] != $minor)" 2>/dev/null; then
    printf 'python client: no Python 3.%s here\n' "$minor"
    continue
  fi
  other=$home/3.$minor
  [ -x "$other/bin/pytest" ] || { "$python" -m venv --clear "$other" && "$other/bin/pip" install --quiet httpx==0.28.1 pydantic==2.14.3 pytest==9.2.0 >&2; }
  "$other/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"/*.whl >&2
  printf 'python client: on %s\n' "$("$other/bin/python" --version)"
  ../../scripts/with-server.sh "$other/bin/python" -m pytest -q "$PWD/tests" --ignore "$PWD/tests/dspy" "$@"
done

DSRS_LM_ANSWERS=$PWD/tests/dspy/answers.json DSRS_SERVER_ENV=DSRS_CONFIG=$PWD/tests/dspy/server.toml PYTHONPATH=tests/dspy \
  ../../scripts/with-server.sh "$home/bin/python" -m pytest -q "$PWD/tests/dspy" "$@"
