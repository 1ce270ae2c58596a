#!/usr/bin/env bash
# A folder of src/ includes only the folders listed above it, and only engine/ and train/ LibTorch:
# tried with the compiler, with the include folders that each library is really compiled with.
#
#   arrows_test.sh SOURCE_DIR INCLUDES CXX
#
# INCLUDES: a line a library, its name and its include folders, written by CMake.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
readonly kSource=$1 kIncludes=$2 kCxx=$3

# The order of docs/design.md, section 2.
readonly kOrder=(base config model program ledger allocator mcore cost plan accuracy engine train report
                 diagnose cli)

position() {
  local i
  for i in "${!kOrder[@]}"; do
    if [ "${kOrder[i]}" = "$1" ]; then echo "$i"; return; fi
  done
  echo "src/$1 has no place in the order of folders" >&2
  return 1
}

# A header of src/FOLDER, as others include it; nothing where it has none.
header_of() { find "$kSource/src/$1" -name '*.h' -printf "$1/%P\n" | sort | sed -n 1p; }

# The same of a library, which may be a sub-folder: CMake names its own include folder first.
own_header_of() {
  local arrow
  arrow=$(awk -v name="$1" '$1 == name {print $2}' "$kIncludes")
  find -L "$arrow" -name '*.h' -printf '%d %P\n' | sort -n | sed -n '1s/^[0-9]* //p'
}

# compiles LIBRARY HEADER: whether a source of the library could include the header.
compiles() {
  local folder flags=()
  for folder in $(awk -v name="$1" '$1 == name {$1 = ""; print}' "$kIncludes"); do
    flags+=("-I$folder")
  done
  "$kCxx" -std=c++20 -E -x c++ "${flags[@]}" -o "$work/out" - <<<"#include \"$2\""
}

library_keeps_order() {
  local library=$1 folder=${1#refrain_} own other header
  folder=${folder%%_*}
  own=$(position "$folder")
  compiles "$library" "$(own_header_of "$library")"
  for other in "${kOrder[@]:own+1}"; do
    [ -d "$kSource/src/$other" ] || continue
    header=$(header_of "$other")
    [ -n "$header" ] || continue
    if compiles "$library" "$header" 2>/dev/null; then
      echo "$library can include $header"
      return 1
    fi
  done
  case $folder in engine | train) return ;; esac
  if compiles "$library" ATen/core/Tensor.h 2>/dev/null; then
    echo "$library can include LibTorch"
    return 1
  fi
}

every_folder_has_a_place() {
  local folder
  for folder in "$kSource"/src/*/; do position "$(basename "$folder")"; done
}

no_relative_includes() { ! grep -rnE '#include "\.\.?/' "$kSource/src" "$kSource/tests" --include='*.h' --include='*.cpp'; }

while read -r library _; do
  check "$library includes itself and nothing below it" library_keeps_order "$library"
done <"$kIncludes"
check "every folder has a place in the order" every_folder_has_a_place
check "nothing is included by a relative path" no_relative_includes
finish
