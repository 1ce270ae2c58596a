#!/usr/bin/env bash
# `cmake --install` into an empty folder: the programs run from there, and somebody else's project
# finds the package, compiles against the installed headers and gets right answers.
#
#   install_test.sh BUILD_DIR CXX VERSION WITH_ENGINE(ON|OFF)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
readonly kBuild=$1 kCxx=$2 kVersion=$3 kWithEngine=$4
kConsumer=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/consumer
prefix=$work/prefix

installs() { cmake --install "$kBuild" --prefix "$prefix"; }

programs_run() {
  contains "$("$prefix/bin/refrain" --version)" "$kVersion"
  [ "$kWithEngine" = OFF ] || ! ldd "$prefix/bin/refrain-engine" | grep 'not found'
}

# Header and package files name neither the build folder nor LibTorch.
package_stands_alone() { ! grep -rnIE "$kBuild|torch_cpu|libtorch_cpu" "$prefix/lib" "$prefix/include"; }

consumer_builds() {
  cmake -S "$kConsumer" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$kCxx" -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build "$work/consumer"
  if ldd "$work/consumer/consumer" | grep torch; then return 1; fi
}

consumer_gets_answers() {
  local output none full
  output=$("$work/consumer/consumer")
  contains "$output" "version $kVersion"
  none=$(awk '$1 == "none" {print $2}' <<<"$output")
  full=$(awk '$1 == "full:uniform:1" {print $2}' <<<"$output")
  echo "none $none, full $full"
  [ "$full" -gt 0 ] && [ "$none" -gt "$full" ]
}

other_version_is_refused() {
  sed "s/find_package(Refrain [0-9.]*/find_package(Refrain 99.0/" "$kConsumer/CMakeLists.txt" >"$work/CMakeLists.txt"
  cp "$kConsumer/consumer.cpp" "$work"
  ! cmake -S "$work" -B "$work/other" -G Ninja -DCMAKE_CXX_COMPILER="$kCxx" -DCMAKE_PREFIX_PATH="$prefix"
}

check "it installs into a folder of one's choice" installs
check "the installed programs run" programs_run
check "the package names neither the build folder nor LibTorch" package_stands_alone
check "another project builds against it" consumer_builds
check "another project gets answers from it" consumer_gets_answers
check "a version that is not there is refused" other_version_is_refused
finish
