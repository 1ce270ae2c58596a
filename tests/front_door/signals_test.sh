#!/usr/bin/env bash
# A training run that is asked to stop: it finishes its step, saves, and says by its exit status why.
#
#   signals_test.sh BIN_DIR
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
readonly kBin=$1

# stops_with SIGNAL EXIT_STATUS: sends the signal once the first step has been told.
stops_with() {
  local signal=$1 expected=$2 status=0 folder=$work/$1
  exec 3< <(exec "$kBin/refrain" train --model llama-tiny --seq 64 --steps 1000000 --json \
    --save "$folder")
  local pid=$! first last
  read -r first <&3
  contains "$first" '"step":1,'
  kill "-$signal" "$pid"
  last=$(tail -n 1 <&3)
  wait "$pid" || status=$?
  [ "$status" = "$expected" ] || { echo "exit status $status"; return 1; }
  contains "$last" '"summary":true' '"grad_hash":'
  compgen -G "$folder/step-*/state.json" >/dev/null
}

goes_on_after() {
  local step lines
  step=$(basename "$work/$1"/step-*)
  step=$((10#${step#step-}))
  lines=$("$kBin/refrain" train --model llama-tiny --seq 64 --steps $((step + 1)) --json \
    --resume "$work/$1")
  contains "${lines%%$'\n'*}" "\"step\":$((step + 1)),"
}

check "SIGINT ends a run with 130, saved" stops_with INT 130
check "SIGTERM ends a run with 143, saved" stops_with TERM 143
check "the run goes on where it was stopped" goes_on_after INT
finish
