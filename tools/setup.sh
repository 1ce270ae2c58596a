#!/usr/bin/env bash
# Installs what Refrain is built with. Run it as often as you like: what is there is left alone.
#
#   tools/setup.sh         compiler, libraries and LibTorch (into .venv): for `make build`
#   tools/setup.sh web     a browser (Chromium): for the tests of pages, `make web`
#   tools/setup.sh lint    clang-format and clang-tidy: for `make lint`
#   tools/setup.sh fuzz    Clang with libFuzzer: for `make fuzz`
#   tools/setup.sh peer    Python's PyTorch (into .venv-peer): for `make bench`
#
# REFRAIN_LIBTORCH=DIR    uses a LibTorch of your own (DIR holds include/ and lib/); no .venv then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly kBuildPackages=(
  g++ make cmake ninja-build git
  python3 python3-venv
  libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libyaml-cpp-dev
  libgtest-dev
)
readonly kWebPackages=(chromium)
readonly kLintPackages=(clang-format clang-tidy)
readonly kFuzzPackages=(clang-14 libclang-rt-14-dev)
readonly kMinGcc=12 kMinCmake=3.25 kMinGlibc=2.28

say() { printf '==> %s\n' "$*"; }

# fail WHAT REMEDY: a step that cannot go on says what is wrong and what to do about it.
fail() {
  printf 'setup: error: %s\n  remedy: %s\n' "$1" "$2" >&2
  exit 1
}

# at_least HAVE WANT: compares versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | sed -n 1p)" = "$2" ]; }

check_machine() {
  local system machine glibc
  system=$(uname -s) machine=$(uname -m)
  [ "$system" = Linux ] ||
    fail "Refrain runs on Linux, this is $system" "use a Linux machine, virtual machine or container"
  case "$machine" in
    x86_64) say "machine: $system $machine" ;;
    aarch64) say "machine: $system $machine (untested: Refrain is tested on x86_64)" ;;
    *) [ -n "${REFRAIN_LIBTORCH:-}" ] ||
         fail "LibTorch is published for x86_64 and aarch64, this is $machine" \
              "build LibTorch for $machine and give it: make REFRAIN_LIBTORCH=DIR" ;;
  esac
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{print $2}') || true
  at_least "${glibc:-0}" $kMinGlibc ||
    fail "LibTorch needs glibc $kMinGlibc or later, this system has ${glibc:-another C library}" \
         "use a system as new as Debian 12"
}

# need_space FOLDER MEGABYTES WHAT: the nearest existing folder above FOLDER counts.
need_space() {
  local folder=$1 free
  while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
  free=$(df -Pm "$folder" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$2" ] ||
    fail "$3 needs $2 MB in $folder, where $free MB are free" "free some space (or set TMPDIR for temporary files)"
}

# as_root COMMAND...: runs it as root, by sudo where needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "packages are missing and only root may install them" "as root: apt-get install -y ${missing[*]}"
  fi
}

# install_packages NAME...: the missing ones among Debian packages; asks no network where none is.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "packages: this is not Debian or Ubuntu; what these packages hold must be there: $*"
    return
  fi
  local package state
  missing=()
  for package; do
    state=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null) || true
    # One line an architecture that the package is there for.
    [[ $'\n'$state$'\n' == *$'\n'installed$'\n'* ]] || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then
    say "packages: all $# are there"
    return
  fi
  say "packages: installing ${missing[*]}"
  need_space /usr 800 "installing packages"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  as_root "${apt[@]}" update ||
    fail "the package lists could not be read" "check the network and the proxy (http_proxy), then run it again"
  as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install ${missing[*]}" "read its message above; on a system older than Debian 12 some of these do not exist"
}

check_tools() {
  local compiler=${CXX:-g++} version
  command -v "$compiler" >/dev/null || fail "there is no C++ compiler ($compiler)" "install g++ $kMinGcc or later"
  command -v cmake >/dev/null || fail "there is no cmake" "install CMake $kMinCmake or later"
  command -v ninja >/dev/null || fail "there is no ninja" "install ninja-build"
  version=$("$compiler" --version)
  if [[ "${version,,}" != *clang* ]]; then
    version=$("$compiler" -dumpfullversion -dumpversion)
    at_least "$version" $kMinGcc ||
      fail "C++20 needs g++ $kMinGcc or later, $compiler is $version" "install a newer one and name it: CXX=g++-$kMinGcc make build"
  fi
  version=$(cmake --version | awk 'NR == 1 {print $3}')
  at_least "$version" $kMinCmake || fail "CMake $kMinCmake or later is needed, this is $version" "python3 -m pip install cmake, or a newer system"
  say "tools: $compiler, cmake $version, ninja"
}

# make_venv FOLDER: a virtual environment with a working pip; a broken one is made anew.
make_venv() {
  if "$1/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
  command -v python3 >/dev/null || fail "there is no python3" "install python3 and python3-venv"
  say "$1: making a virtual environment"
  python3 -m venv --clear "$1" ||
    fail "python3 cannot make a virtual environment with pip" "install python3-venv: apt-get install -y python3-venv"
}

# install_wheels FOLDER REQUIREMENTS MEGABYTES [PIP-OPTION...]: those that are absent or incomplete.
install_wheels() {
  local folder=$1 requirements=$2 space=$3 wanted
  shift 3
  if "$folder/bin/python" tools/missing_wheels.py "$requirements" >/dev/null 2>&1; then
    say "$folder: all of $requirements is there"
    return
  fi
  need_space "$folder" "$space" "installing $requirements"
  need_space "${TMPDIR:-/tmp}" 1500 "downloading $requirements"
  make_venv "$folder"
  mapfile -t wanted < <("$folder/bin/python" tools/missing_wheels.py "$requirements")
  say "$folder: installing ${wanted[*]}"
  "$folder/bin/python" -m pip install --disable-pip-version-check --force-reinstall "$@" "${wanted[@]}" ||
    fail "pip could not install ${wanted[*]}" "check the network and the proxy (https_proxy); without a network put the wheels into a folder and set PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER, or give a LibTorch of your own: make REFRAIN_LIBTORCH=DIR"
  "$folder/bin/python" tools/missing_wheels.py "$requirements" ||
    fail "$folder is incomplete after installing" "rm -r $folder, then run it again"
}

setup_libtorch() {
  if [ -z "${REFRAIN_LIBTORCH:-}" ]; then
    install_wheels .venv tools/libtorch.txt 3000 --no-deps
    return
  fi
  local part
  for part in include/ATen/core/Tensor.h lib/libtorch_cpu.so lib/libc10.so; do
    [ -e "$REFRAIN_LIBTORCH/$part" ] ||
      fail "REFRAIN_LIBTORCH is no LibTorch: $REFRAIN_LIBTORCH/$part does not exist" "name the folder that holds include/ and lib/"
  done
  say "LibTorch: yours, in $REFRAIN_LIBTORCH"
}

case "${1:-build}" in
  build)
    check_machine
    install_packages "${kBuildPackages[@]}"
    check_tools
    setup_libtorch
    ;;
  web) install_packages "${kWebPackages[@]}" ;;
  lint) install_packages "${kLintPackages[@]}" ;;
  fuzz) install_packages "${kFuzzPackages[@]}" ;;
  peer)
    check_machine
    install_wheels .venv-peer tools/peer.txt 9000
    .venv-peer/bin/python -c 'import numpy, torch' ||
      fail "PyTorch in .venv-peer does not start" "rm -r .venv-peer, then run it again"
    ;;
  *) fail "there is no set-up called $1" "tools/setup.sh, or tools/setup.sh lint, fuzz, web or peer" ;;
esac
