#!/usr/bin/env bash
# Every command that the documentation shows in a `console` block, run as a reader would: lines that
# begin with "$ refrain" are executed in an empty folder and must exit with 0 (or with N where the
# next line says "# exits with N"); "$ make TARGET" must be a target of the Makefile.
# Derived pages must be what the code writes.
#
#   docs_test.sh SOURCE_DIR BIN_DIR
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
readonly kSource=$1 kBin=$2

# "EXIT_STATUS COMMAND", a line a command.
commands_of() {
  awk '
    /^```console$/ { inside = 1; next }
    /^```/ { if (command) print status " " command; command = ""; inside = 0 }
    inside && /^\$ / { if (command) print status " " command; command = substr($0, 3); status = 0 }
    inside && /^# exits with [0-9]+$/ { status = $4 }
  ' "$1"
}

run() { (cd "$work/reader" && PATH="$kBin:$PATH" bash -c "$1") </dev/null >"$work/.out" 2>&1; }

command_works() {
  local expected=$1 command=$2 status=0
  case $command in
    make\ *) make -C "$kSource" --dry-run ${command#make } >/dev/null && return ;;
    refrain\ *) run "$command" || status=$? ;;
    *) echo "a command that no test knows how to run: $command"; return 1 ;;
  esac
  [ "$status" = "$expected" ] && return
  echo "$command: exit status $status, not $expected"
  cat "$work/.out"
  return 1
}

mkdir "$work/reader"
for page in "$kSource"/README.md "$kSource"/CONTRIBUTING.md "$kSource"/docs/*.md; do
  while read -r status command; do
    check "${page##*/}: $command" command_works "$status" "$command"
  done < <(commands_of "$page")
done

# page_is_current PAGE COMMAND...: a derived page is what the command writes.
page_is_current() { local page=$1; shift; "$kBin/refrain" "$@" --markdown | diff - "$kSource/docs/$page.md"; }
for page in labels rules knobs; do
  check "docs/$page.md is what refrain $page --markdown writes" page_is_current $page $page
done
check "docs/recipes.md is what refrain recipes --verdicts --markdown writes" \
  page_is_current recipes recipes --verdicts
check "docs/accuracy.md is what refrain accuracy --markdown writes of data/accuracy" \
  page_is_current accuracy accuracy "$kSource"/data/accuracy/megatron_ci.csv "$kSource"/data/accuracy/measured.csv \
  "$kSource"/data/accuracy/cases.csv

finish
