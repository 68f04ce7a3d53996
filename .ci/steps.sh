# The machinery of steps: declares them, selects those to run, times, skips and lists them. A script that has steps sources
# it (.ci/run); it knows no step and nothing of this repository but that git lists its files.
#
#   always NAME             declares a step that every run executes
#   keyed NAME INPUT ...    declares a step that is skipped if it has passed before with the same key
#
# The commands of a step are the function step_NAME, with `_` for `-`. An INPUT is a path, which stands for the files that git
# tracks or would add there, with their present contents; or =TEXT, which stands for itself. The key is a hash of the inputs,
# of the step's function, and of what the function describe_tools of the caller prints.

# Outside the clone: another clone on this machine skips what has passed here.
STORE=${XDG_CACHE_HOME:-$HOME/.cache}/dsrs-server/ci
STORE_DAYS=30
STEPS=()
INPUTS=()
RESULTS=()
SELECTED=()
ACTION=run
ALL=no
TOOLS=
KEYS=()
CURRENT=

always() { STEPS+=("$1"); INPUTS+=(""); }
keyed() { local name=$1; shift; STEPS+=("$name"); INPUTS+=("$(printf '%s\n' "$@")"); }
die() { printf 'ci: %s\n' "$*" >&2; exit 1; }

# read_arguments [--all | --list | --inputs] [STEP ...]
read_arguments() {
  local argument
  for argument in "$@"; do
    case "$argument" in
      --all) ALL=yes ;;
      --list | --inputs) ACTION=${argument#--} ;;
      -*) die "usage: run [--all | --list | --inputs] [STEP ...]" ;;
      *) is_in "$argument" "${STEPS[@]}" || die "no step is named $argument; the steps: ${STEPS[*]}"
         SELECTED+=("$argument") ;;
    esac
  done
  [ "${#SELECTED[@]}" -gt 0 ] || SELECTED=("${STEPS[@]}")
}

is_in() { # is_in WORD WORDS...
  local word=$1 other
  shift
  for other in "$@"; do [ "$other" != "$word" ] || return 0; done
  return 1
}

is_selected() { is_in "$1" "${SELECTED[@]}"; }

# list_files PATH...: a line for each file with its hash, and whether it can be executed.
list_files() {
  local path files hashes
  for path in "$@"; do [ -e "$path" ] || { printf 'ci: an input is not there: %s\n' "$path" >&2; return 1; }; done
  files=$(git -c core.quotePath=false ls-files --cached --others --exclude-standard -- "$@" | LC_ALL=C sort -u |
    while IFS= read -r path; do [ ! -f "$path" ] || printf '%s\n' "$path"; done) || return 1
  [ -n "$files" ] || { printf 'ci: inputs without a file: %s\n' "$*" >&2; return 1; }
  hashes=$(printf '%s\n' "$files" | git hash-object --no-filters --stdin-paths) || return 1
  paste -d ' ' <(printf '%s\n' "$hashes") \
    <(printf '%s\n' "$files" | while IFS= read -r path; do [ -x "$path" ] && echo x || echo -; done) \
    <(printf '%s\n' "$files")
}

# list_inputs INDEX: what the key of a step is made of, except its function and the tools.
list_inputs() {
  local input paths=()
  while IFS= read -r input; do
    case "$input" in =*) printf '%s\n' "$input" ;; *) paths+=("$input") ;; esac
  done <<<"${INPUTS[$1]}"
  [ "${#paths[@]}" = 0 ] || list_files "${paths[@]}"
}

function_of() { printf 'step_%s' "${1//-/_}"; }

key_of() { # key_of INDEX
  { printf '%s\n' "${STEPS[$1]}" "$TOOLS"; declare -f "$(function_of "${STEPS[$1]}")"; list_inputs "$1"; } |
    git hash-object --stdin || die "no key for the step ${STEPS[$1]}"
}

read_keys() {
  local index
  TOOLS=$(describe_tools)
  for index in "${!STEPS[@]}"; do
    KEYS[index]=
    if [ -n "${INPUTS[$index]}" ] && is_selected "${STEPS[$index]}"; then KEYS[index]=$(key_of "$index"); fi
  done
}

has_passed() { [ -f "$STORE/$1" ]; }

# Moved into place, so that no other run sees half of it.
store_key() { # store_key KEY NAME
  local new
  mkdir -p "$STORE"
  new=$(mktemp "$STORE/.new.XXXXXX")
  printf '%s passed at %s\n' "$2" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$new"
  mv "$new" "$STORE/$1"
}

record() { RESULTS+=("$(printf '%s\t' "$@")"); } # record NAME WALL CPU RESULT KEY

print_table() {
  [ "${#RESULTS[@]}" -gt 0 ] || return 0
  printf '%s\n' "${RESULTS[@]}" | awk -F '\t' '
    BEGIN { form = "%-20s %9s %9s  %-11s  %s\n"; printf "\n" form, "step", "wall s", "CPU s", "result", "key" }
    { printf form, $1, sprintf("%.1f", $2), sprintf("%.1f", $3), $4, $5 == "" ? "-" : $5; wall += $2; cpu += $3 }
    END { printf form, "all", sprintf("%.1f", wall), sprintf("%.1f", cpu), "-", "-" }'
  RESULTS=()
}

# A full disk looks like many broken tests: the log says how much is free.
heading() { printf '\n=== %s (%ss, %s of disk free)\n' "$1" "$SECONDS" "$(df -Ph . | awk 'NR == 2 { print $4 }')"; }

run_step() { # run_step INDEX
  local name=${STEPS[$1]} key=${KEYS[$1]:-} code wall user system result=passed
  heading "$name"
  if [ -n "$key" ] && [ "$ALL" = no ] && has_passed "$key"; then
    printf 'ci: skipped: %s has passed before with the same inputs (key %s); --all runs it\n' "$name" "$key"
    record "$name" 0 0 skipped "$key"
    return
  fi
  CURRENT=$name
  STARTED=$SECONDS
  # No `||` and no `if` here: in them, `set -e` of the step would have no effect.
  set +e
  { time { (set -e; "$(function_of "$name")") 2>&1 | tee "$SCRATCH/output"; }; } 2>"$SCRATCH/time"
  code=$?
  set -e
  CURRENT=
  # CPU seconds include every child that was waited for; a process that outlives its parent is not counted.
  read -r wall user system < <(tail -n 1 "$SCRATCH/time" | tr , .)
  # Scripts that lack a program or the network print SKIPPED and succeed: what they check has not passed.
  if grep -q SKIPPED "$SCRATCH/output"; then result=incomplete; fi
  if [ "$code" != 0 ]; then result=failed; fi
  record "$name" "$wall" "$(awk "BEGIN { print $user + $system }")" "$result" "$key"
  [ "$code" = 0 ] || { printf 'ci: the step %s failed\n' "$name" >&2; exit "$code"; }
  if [ -z "$key" ] || [ "$result" != passed ]; then return; fi
  # The server of the step was built before an edit that was made since.
  if [ "$(key_of "$1")" = "$key" ]; then store_key "$key" "$name"
  else printf 'ci: an input of %s has changed during the run: its key is not stored\n' "$name"; fi
}

# begin_run: `--list` and `--inputs` end here. From here on the table is printed however the run ends.
begin_run() {
  [ "$ACTION" = run ] || { list_steps; exit; }
  SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/dsrs-ci.XXXXXX")
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  TIMEFORMAT='%R %U %S'
  [ ! -d "$STORE" ] || find "$STORE" -type f -mtime "+$STORE_DAYS" -delete
}

finish() {
  local code=$?
  trap - EXIT
  [ -z "$CURRENT" ] || record "$CURRENT" $((SECONDS - STARTED)) 0 interrupted
  print_table
  rm -rf "$SCRATCH"
  exit "$code"
}

# run_steps: the selected ones, and then the table.
run_steps() {
  local index is_first=yes
  for index in "${!STEPS[@]}"; do
    is_selected "${STEPS[$index]}" || continue
    # Not before the first step, which may install tools.
    if [ -z "$TOOLS" ] && { [ "$is_first" = no ] || [ -n "${INPUTS[$index]}" ]; }; then read_keys; fi
    is_first=no
    run_step "$index"
  done
  print_table
}

# list_steps: what would run, or the inputs of it.
list_steps() {
  local index key
  [ "$ACTION" = inputs ] || read_keys
  for index in "${!STEPS[@]}"; do
    is_selected "${STEPS[$index]}" || continue
    if [ "$ACTION" = inputs ]; then
      printf '%s:\n' "${STEPS[$index]}"
      [ -z "${INPUTS[$index]}" ] || list_inputs "$index"
    elif [ -z "${INPUTS[$index]}" ]; then
      printf '%-20s %-40s %s\n' "${STEPS[$index]}" - "is never skipped"
    else
      key=${KEYS[$index]}
      printf '%-20s %s %s\n' "${STEPS[$index]}" "$key" "$(has_passed "$key" && echo "has passed" || echo "has to run")"
    fi
  done
}
