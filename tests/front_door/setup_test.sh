#!/usr/bin/env bash
# tools/setup.sh on machines that lack something. PATH holds nothing but stand-ins for the tools that
# look at the machine and links to the real ones otherwise; wheels are made here, so no network is asked.
#
#   setup_test.sh SOURCE_DIR
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/check.sh"
readonly kSource=$1
# The interpreter itself, where python3 is a script that picks one.
kPython=$(python3 -c "import sys; print(sys.executable)")

# A fresh machine where all is well: every case changes one thing.
new_machine() {
  tree=$work/tree bin=$work/bin calls=$work/calls
  rm -rf "$tree" "$bin" "$calls" "$work/libtorch"
  mkdir -p "$tree" "$bin" "$work/libtorch/include/ATen/core" "$work/libtorch/lib"
  touch "$calls" "$work/libtorch/include/ATen/core/Tensor.h" "$work/libtorch/lib/"{libtorch_cpu,libc10}.so
  cp -r "$kSource/tools" "$tree/tools"
  local tool
  for tool in bash env awk sed sort grep dirname cat rm; do
    ln -s "$(command -v $tool)" "$bin/$tool"
  done
  stand_in uname 'case $1 in -s) echo Linux ;; -m) echo x86_64 ;; esac'
  stand_in getconf 'echo glibc 2.36'
  stand_in id 'echo 0'
  stand_in df 'printf "Filesystem\nx 1 1 50000 1 /\n"'
  stand_in dpkg-query 'echo installed'
  stand_in apt-get "echo apt-get \"\$@\" >> $calls"
  stand_in g++ 'case $1 in --version) echo "g++ 12.2.0" ;; *) echo 12.2.0 ;; esac'
  stand_in cmake 'echo cmake version 3.25.1'
  stand_in ninja ''
  stand_in python3 "exec $kPython \"\$@\""
}

# stand_in TOOL SCRIPT
stand_in() { rm -f "$bin/$1"; printf '#!%s\n%s\n' "$BASH" "$2" >"$bin/$1"; chmod +x "$bin/$1"; }

# setup [VARIABLE=VALUE...] [ARGUMENT]: runs it on that machine, by default with a LibTorch of its own.
setup() {
  local environment=(PATH="$bin" HOME="$work" TMPDIR="$work" PIP_NO_INDEX=1 PIP_FIND_LINKS="$work/wheels"
                     PIP_CONFIG_FILE=/dev/null REFRAIN_LIBTORCH="$work/libtorch")
  while [[ "${1:-}" == *=* ]]; do environment+=("$1"); shift; done
  env -i "${environment[@]}" "$bin/bash" "$tree/tools/setup.sh" "$@"
}

nothing_missing() {
  new_machine
  output=$(setup)
  contains "$output" "packages: all" "LibTorch: yours, in $work/libtorch"
  [ ! -s "$calls" ] && [ ! -e "$tree/.venv" ]
}

missing_package() {
  new_machine
  stand_in dpkg-query 'case "$*" in *libfmt-dev) exit 1 ;; *git) echo config-files ;; *make) printf "config-files\\ninstalled\\n" ;;
    *) echo installed ;; esac'
  contains "$(setup)" "installing git libfmt-dev"
  contains "$(cat "$calls")" "update" "install -y --no-install-recommends git libfmt-dev"
}

not_root() {
  new_machine
  stand_in dpkg-query 'exit 1'
  stand_in id 'echo 1000'
  contains "$(fails setup)" "only root" "apt-get install -y g++"
  [ ! -s "$calls" ]
  stand_in sudo "echo sudo >> $calls; exec \"\$@\""
  contains "$(setup)" "installing g++"
  contains "$(cat "$calls")" "sudo" "apt-get"
}

no_network_for_packages() {
  new_machine
  stand_in dpkg-query 'exit 1'
  stand_in apt-get 'case "$*" in *update*) exit 100 ;; esac'
  contains "$(fails setup)" "package lists could not be read" "check the network"
  stand_in apt-get 'case "$*" in *install*) exit 100 ;; esac'
  contains "$(fails setup)" "apt-get could not install"
}

no_debian() {
  new_machine
  rm "$bin/dpkg-query" "$bin/apt-get"
  contains "$(setup)" "not Debian" "libfmt-dev"
}

wrong_machine() {
  new_machine
  stand_in uname 'case $1 in -s) echo Linux ;; -m) echo riscv64 ;; esac'
  contains "$(fails setup REFRAIN_LIBTORCH=)" "this is riscv64" "make REFRAIN_LIBTORCH=DIR"
  setup
  stand_in uname 'case $1 in -s) echo Linux ;; -m) echo aarch64 ;; esac'
  contains "$(setup)" "untested"
  stand_in uname 'echo Darwin'
  contains "$(fails setup)" "this is Darwin"
}

old_system() {
  new_machine
  stand_in getconf 'echo glibc 2.27'
  contains "$(fails setup)" "glibc 2.28 or later, this system has 2.27"
  stand_in getconf 'exit 1'
  contains "$(fails setup)" "another C library"
}

old_tools() {
  new_machine
  stand_in g++ 'case $1 in --version) echo "g++ 11.4.0" ;; *) echo 11.4.0 ;; esac'
  contains "$(fails setup)" "g++ is 11.4.0" "CXX=g++-12"
  stand_in g++-13 'case $1 in --version) echo "g++-13" ;; *) echo 13.1.0 ;; esac'
  setup CXX=g++-13
  rm "$bin/g++"
  contains "$(fails setup)" "no C++ compiler"
  new_machine
  stand_in cmake 'echo cmake version 3.18.4'
  contains "$(fails setup)" "this is 3.18.4"
  rm "$bin/cmake"
  contains "$(fails setup)" "no cmake"
}

no_libtorch_there() {
  new_machine
  rm "$work/libtorch/lib/libc10.so"
  contains "$(fails setup)" "libc10.so does not exist" "holds include/ and lib/"
}

# make_wheel NAME VERSION: a wheel with one library file.
make_wheel() {
  mkdir -p "$work/wheels"
  "$kPython" - "$work/wheels" "$1" "$2" <<'PYTHON'
import base64, hashlib, sys, zipfile
folder, name, version = sys.argv[1:]
stem = name.replace("-", "_")
info = f"{stem}-{version}.dist-info"
files = {
    f"{stem}/lib/lib{stem}.so": name * 10,
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = f"{info}/RECORD,,\n"
for path, text in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    record += f"{path},sha256={digest},{len(text)}\n"
files[f"{info}/RECORD"] = record
with zipfile.ZipFile(f"{folder}/{stem}-{version}-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
PYTHON
}

make_wheels() {
  local name version
  while IFS='=' read -r name _ version; do make_wheel "$name" "$version"; done \
    < <(grep -v '^#' "$kSource/tools/libtorch.txt")
}

# A new .venv, then the ways in which one is found half-finished. One case: a .venv takes seconds.
venv() {
  new_machine
  rm -rf "$work/wheels"
  make_wheels
  contains "$(setup REFRAIN_LIBTORCH=)" ".venv: making" ".venv: installing torch=="
  local library
  library=$(echo "$tree"/.venv/lib/python3*/site-packages/torch/lib/libtorch.so)
  [ -s "$library" ]

  contains "$(setup REFRAIN_LIBTORCH=)" "all of tools/libtorch.txt is there"

  rm "$library"
  contains "$(setup REFRAIN_LIBTORCH=)" "installing torch=="
  [ -s "$library" ]

  echo cut >"$library"
  output=$(setup REFRAIN_LIBTORCH=)
  contains "$output" "installing torch=="
  [[ "$output" != *"installing"*cupti* ]]

  rm "$tree"/.venv/lib/python3*/site-packages/torch-*.dist-info/RECORD
  contains "$(setup REFRAIN_LIBTORCH=)" "installing torch=="

  rm "$tree"/.venv/bin/python*
  contains "$(setup REFRAIN_LIBTORCH=)" ".venv: making" "installing torch=="

  make_wheel torch 9.9.9
  sed -i 's/^torch==.*/torch==9.9.9/' "$tree/tools/libtorch.txt"
  contains "$(setup REFRAIN_LIBTORCH=)" "installing torch==9.9.9"
  contains "$(setup REFRAIN_LIBTORCH=)" "all of tools/libtorch.txt is there"
}

no_network_for_wheels() {
  new_machine
  rm -rf "$work/wheels"
  mkdir "$work/wheels"
  contains "$(fails setup REFRAIN_LIBTORCH=)" "pip could not install" "PIP_FIND_LINKS=FOLDER" "REFRAIN_LIBTORCH=DIR"
}

no_space() {
  new_machine
  stand_in df 'printf "Filesystem\nx 1 1 2999 1 /\n"'
  contains "$(fails setup REFRAIN_LIBTORCH=)" "needs 3000 MB" "2999 MB are free"
  [ ! -e "$tree/.venv" ]
  setup
  stand_in df 'printf "Filesystem\nx 1 1 700 1 /\n"'
  stand_in dpkg-query 'exit 1'
  contains "$(fails setup)" "installing packages needs 800 MB"
  [ ! -s "$calls" ]
}

no_venv_module() {
  new_machine
  stand_in python3 'exit 1'
  contains "$(fails setup REFRAIN_LIBTORCH=)" "cannot make a virtual environment" "apt-get install -y python3-venv"
  rm "$bin/python3"
  contains "$(fails setup REFRAIN_LIBTORCH=)" "no python3"
}

unknown_word() {
  new_machine
  contains "$(fails setup everything)" "no set-up called everything"
}

check "where nothing is missing it installs nothing" nothing_missing
check "it installs just the missing packages" missing_package
check "without root it uses sudo, or says what root must do" not_root
check "without a network for packages it says so" no_network_for_packages
check "elsewhere than on Debian it names what must be there" no_debian
check "another architecture or system is refused, aarch64 is called untested" wrong_machine
check "an old C library is refused" old_system
check "old or absent tools are refused, CXX is honoured" old_tools
check "a folder that is no LibTorch is refused" no_libtorch_there
check "it makes .venv once, and repairs it where it is damaged or out of date" venv
check "without a network for wheels it names the ways out" no_network_for_wheels
check "without space it stops before it installs" no_space
check "without python3 or its venv module it names the package" no_venv_module
check "a set-up that does not exist is refused" unknown_word
finish
