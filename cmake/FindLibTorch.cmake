# Finds LibTorch's CPU half without find_package(Torch), which would ask for a CUDA toolkit.
#
# Input:  REFRAIN_LIBTORCH, a folder that holds include/ and lib/ (an unpacked LibTorch, or the
#         `torch` folder of a wheel). Default: the wheel in .venv, as tools/setup.sh installs it.
# Output: LibTorch::cpu (libtorch_cpu.so, libc10.so and their headers), LibTorch_VERSION.
#
# No -fopenmp: it would link the compiler's OpenMP runtime beside the one that LibTorch bundles, two
# pools of threads. src/engine/numerics/parallel.h runs loops on LibTorch's.
set(REFRAIN_LIBTORCH "" CACHE PATH "Folder of LibTorch (holds include/ and lib/)")

# The one the tests have seen; LibTorch's C++ interface may change with every minor release.
set(LibTorch_TESTED_VERSION 2.14.1)

set(_candidates ${REFRAIN_LIBTORCH})
if(NOT REFRAIN_LIBTORCH)
  file(GLOB _candidates "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
endif()

find_path(LibTorch_INCLUDE_DIR ATen/core/Tensor.h PATHS ${_candidates} PATH_SUFFIXES include
          NO_DEFAULT_PATH NO_CACHE)
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS ${_candidates} PATH_SUFFIXES lib
             NO_DEFAULT_PATH NO_CACHE)
find_library(LibTorch_C10_LIBRARY c10 PATHS ${_candidates} PATH_SUFFIXES lib
             NO_DEFAULT_PATH NO_CACHE)

set(_version_header "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
if(EXISTS "${_version_header}")
  file(STRINGS "${_version_header}" _version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" LibTorch_VERSION "${_version_lines}")
  list(JOIN LibTorch_VERSION "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_INCLUDE_DIR LibTorch_C10_LIBRARY
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "run tools/setup.sh, which installs it into .venv, or give your own: -DREFRAIN_LIBTORCH=DIR")

if(LibTorch_FOUND AND NOT LibTorch_VERSION VERSION_EQUAL LibTorch_TESTED_VERSION)
  message(WARNING "LibTorch ${LibTorch_VERSION} is untested here; "
                  "Refrain is tested with ${LibTorch_TESTED_VERSION}")
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES
    IMPORTED_LOCATION "${LibTorch_C10_LIBRARY}"
    # Searched last: LibTorch's headers bring a fmt of their own, which must not hide the system's.
    INTERFACE_COMPILE_OPTIONS "SHELL:-idirafter ${LibTorch_INCLUDE_DIR}")
  add_library(LibTorch::cpu SHARED IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION "${LibTorch_CPU_LIBRARY}"
    INTERFACE_LINK_LIBRARIES LibTorch::c10
    # libtorch_cpu.so finds what it needs by its own run path; the linker need not look for it.
    INTERFACE_LINK_OPTIONS
      "LINKER:--allow-shlib-undefined;LINKER:--unresolved-symbols=ignore-in-shared-libs")
endif()
