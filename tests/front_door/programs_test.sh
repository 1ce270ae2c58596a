#!/usr/bin/env bash
# What the two programs are linked to.
#
#   programs_test.sh BIN_DIR WITH_ENGINE(ON|OFF)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
readonly kBin=$1 kWithEngine=$2

refrain_has_no_libtorch() {
  local libraries
  libraries=$(ldd "$kBin/refrain")
  contains "$libraries" libstdc++
  ! grep -E 'torch|libc10|gomp|not found' <<<"$libraries"
}

engine_finds_its_libraries() {
  local libraries
  libraries=$(ldd "$kBin/refrain-engine")
  contains "$libraries" libtorch_cpu.so
  ! grep 'not found' <<<"$libraries"
}

# Two runtimes would be two pools of threads. Theirs is the one beside libtorch_cpu.so, if there is one.
engine_has_one_openmp() {
  local libraries torch runtimes
  libraries=$(ldd "$kBin/refrain-engine" | awk '$2 == "=>" {print $3}')
  torch=$(grep '/libtorch_cpu.so' <<<"$libraries")
  mapfile -t runtimes < <(grep -E '/lib(gomp|omp|iomp5)[^/]*$' <<<"$libraries")
  printf '%s\n' "${runtimes[@]}"
  [ ${#runtimes[@]} = 1 ]
  if compgen -G "$(dirname "$torch")/libgomp*" >/dev/null; then
    [ "$(dirname "${runtimes[0]}")" = "$(dirname "$torch")" ]
  fi
}

version_is_printed() { grep -E '[0-9]+\.[0-9]+\.[0-9]+' <<<"$("$kBin/refrain" --version)"; }

check "refrain links no LibTorch and no OpenMP" refrain_has_no_libtorch
check "refrain --version prints a version" version_is_printed
if [ "$kWithEngine" = ON ]; then
  check "refrain-engine finds LibTorch and all that it links" engine_finds_its_libraries
  check "refrain-engine runs on one OpenMP runtime, LibTorch's own" engine_has_one_openmp
fi
finish
