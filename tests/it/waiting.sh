#!/bin/sh
# In place of a program of Postgres: runs it and, if it is the one of the settings and has their word, waits when it has
# done its work.
here=$(dirname "$0")
name=$(basename "$0")
# shellcheck source=/dev/null
. "$here/settings"
case "$name $*" in
"$waiting "*"$word"*)
  "$real/$name" "$@" || exit
  : >"$here/reached"
  while [ -e "$here/reached" ]; do sleep 0.05; done
  ;;
*) exec "$real/$name" "$@" ;;
esac
