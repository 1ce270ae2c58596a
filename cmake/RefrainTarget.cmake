# The one target function: a folder of src/ is a library, its tests stand beside the code.
#
#   refrain_library(NAME folder [RUNS_ONCE] [APART] SOURCES a.cpp ... LINKS refrain::base fmt::fmt ...
#                   [TESTS a_test.cpp ... [TEST_LINKS refrain::plan ...]])
#
# RUNS_ONCE: code that a command runs through once; it is optimised little, which halves the time
# that it takes to compile.
# APART: its files name private things alike, so each is compiled on its own also where the others
# are compiled several at a time (CMAKE_UNITY_BUILD, which halves the time of a whole build).
#
# LINKS is PUBLIC and is what enforces the arrows: each library exposes an include folder that holds
# nothing but a link to its own folder of src/, so what is not linked cannot be included.
# tests/front_door/arrows_test.sh tries it for every pair of folders.
include(GoogleTest)

set(REFRAIN_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers  # designated initialisers leave out what has a default
    # GCC 12 sees overlaps and overflows in std::string's own code (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>)

function(refrain_library)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "RUNS_ONCE;APART" "NAME" "SOURCES;LINKS;TESTS;TEST_LINKS")
  string(REPLACE "/" "_" alias "${ARG_NAME}")
  set(target refrain_${alias})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(refrain::${alias} ALIAS ${target})
  set(arrow ${PROJECT_BINARY_DIR}/arrows/${target})
  get_filename_component(parent ${arrow}/${ARG_NAME} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${arrow}/${ARG_NAME} SYMBOLIC)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${arrow}>
                                              $<INSTALL_INTERFACE:include/refrain>)
  target_link_libraries(${target} PUBLIC ${ARG_LINKS})
  target_compile_options(${target} PRIVATE ${REFRAIN_WARNINGS})
  if(ARG_RUNS_ONCE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${alias})
  if(ARG_APART)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
  refrain_share_headers(${target})
  set_property(GLOBAL APPEND PROPERTY REFRAIN_LIBRARIES ${target})
  if(ARG_TESTS AND REFRAIN_BUILD_TESTS)
    refrain_test(NAME ${ARG_NAME} LABEL unit SOURCES ${ARG_TESTS} LINKS ${target} ${ARG_TEST_LINKS})
  endif()
endfunction()

# refrain_program(NAME refrain-engine SOURCES ... LINKS ...): an executable that is installed.
function(refrain_program)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME" "SOURCES;LINKS")
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINKS})
  target_compile_options(${ARG_NAME} PRIVATE ${REFRAIN_WARNINGS})
  set_target_properties(${ARG_NAME} PROPERTIES UNITY_BUILD OFF)  # main() may name what it likes
  refrain_share_headers(${ARG_NAME})
endfunction()

# refrain_test(NAME n LABEL unit|case|exact|ranks|web SOURCES ... LINKS ... [SHARDS 2])
#
# Without LibTorch every test case is a CTest test of its own. A process with LibTorch takes half a
# second to start, so there a CTest test is the whole executable, or one of SHARDS parts of it. Its
# threads do not spin while they wait, since tests run beside each other.
function(refrain_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;LABEL;SHARDS" "SOURCES;LINKS")
  string(REPLACE "/" "_" target "${ARG_NAME}_test")
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LINKS} GTest::gtest_main)
  target_compile_options(${target} PRIVATE ${REFRAIN_WARNINGS} $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${target} PRIVATE
    REFRAIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" REFRAIN_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  refrain_share_headers(${target})
  refrain_links_libtorch(${target} with_libtorch)
  if(NOT with_libtorch)
    gtest_discover_tests(${target} TEST_PREFIX "${ARG_NAME}." DISCOVERY_TIMEOUT 120
      PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 600)
    return()
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    set(name "${ARG_NAME}.part ${shard} of ${ARG_SHARDS}")
    add_test(NAME ${name} COMMAND ${target})
    set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index};GTEST_BRIEF=1;OMP_WAIT_POLICY=passive")
  endforeach()
endfunction()

# Sets `result` to whether `target` links LibTorch, itself or through what it links.
function(refrain_links_libtorch target result)
  set(${result} FALSE PARENT_SCOPE)
  get_target_property(links ${target} LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^LibTorch::")
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(link MATCHES "^refrain(::|_)" AND TARGET ${link})
      refrain_links_libtorch(${link} below)
      if(below)
        set(${result} TRUE PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Headers of libraries cost seconds a file, so targets share precompiled ones: those that link
# LibTorch its headers, all others but tests fmt's, JSON's and the standard library's.
# Targets whose code is generated alike (-f..., -m...) share one, made when all targets are known. It
# is a matter of speed alone: the `tidy` preset goes without, so a file that forgets an include is
# found.
function(refrain_share_headers target)
  refrain_links_libtorch(${target} with_libtorch)
  get_target_property(links ${target} LINK_LIBRARIES)
  if(with_libtorch)
    set(kind libtorch)
  elseif("GTest::gtest_main" IN_LIST links)
    return()  # optimised little, a test gains nothing
  else()
    set(kind plain)
  endif()
  cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]]
                                           CALL refrain_precompile_for ${target} ${kind})")
endfunction()

function(refrain_precompile_for target kind)
  get_target_property(options ${target} COMPILE_OPTIONS)
  list(FILTER options INCLUDE REGEX "^-[fm]")
  list(FILTER options EXCLUDE REGEX "^-f(openmp-simd|fp-contract)")  # these may differ from it
  string(MD5 key "${options}")
  set(shared refrain_${kind}_headers_${key})
  if(NOT TARGET ${shared})
    set(source ${PROJECT_BINARY_DIR}/${kind}_headers.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Carries the precompiled header.\n")
    add_library(${shared} OBJECT ${source})
    target_link_libraries(${shared} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    if(kind STREQUAL libtorch)
      target_link_libraries(${shared} PRIVATE LibTorch::cpu)
    endif()
    target_compile_options(${shared} PRIVATE ${options})
    target_precompile_headers(${shared} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${kind}_headers.h)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()
