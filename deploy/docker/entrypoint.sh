#!/bin/sh
# The start of the image. A container is reachable from its network, so the server needs an API key there: if nothing
# says which, one is made at the first start and stored in the volume. Everything else is the server's.
set -eu

home=${DSRS_HOME:-/var/lib/dsrs-server}

says_something_about_keys() {
  [ -n "${DSRS_API_KEYS:-}${DSRS_API_KEYS_FILE:-}${DSRS_INSECURE:-}${DSRS_CONFIG:-}" ] || [ -e dsrs.toml ]
}

if [ "${1:-}" = serve ] && ! says_something_about_keys; then
  key=$home/first-key
  if [ ! -s "$key" ]; then
    (umask 077 && od -An -v -N24 -tx1 /dev/urandom | tr -d ' \n' >"$key.new" && mv "$key.new" "$key")
  fi
  export DSRS_API_KEYS_FILE="$key"
  echo "API key: in $key; set DSRS_API_KEYS to use one of yours" >&2
fi

exec dsrs-server "$@"
