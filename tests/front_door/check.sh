# shellcheck shell=bash disable=SC2034
# Sourced by the tests of this folder: named cases that count themselves.
#
#   check "behaviour in words" function     runs the function in a subshell with `set -e`
#   finish                                  prints the summary, exits 1 where a case failed
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {
  local name=$1 status
  shift
  set +e
  (set -e; "$@") >"$work/case.log" 2>&1
  status=$?
  set -e
  if [ $status = 0 ]; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    sed 's/^/    /' "$work/case.log"
  fi
}

# A command's output is taken whole, then looked at: a reader that leaves a pipe early (head, grep -q)
# may kill its writer, and `pipefail` calls that a failure.
#
# contains TEXT PART...: each part must stand in the text.
contains() {
  local text=$1 part
  shift
  for part; do
    case "$text" in
      *"$part"*) ;;
      *) printf 'does not contain: %s\nin: %s\n' "$part" "$text"; return 1 ;;
    esac
  done
}

# fails COMMAND...: prints what the command said; the command must exit with 1.
fails() {
  local output status=0
  output=$("$@" 2>&1) || status=$?
  printf '%s\n' "$output"
  [ $status = 1 ]
}

finish() {
  echo "$passed passed, $failed failed"
  [ $failed = 0 ] && [ $passed -gt 0 ]
}
