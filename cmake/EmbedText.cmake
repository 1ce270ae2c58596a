# Text files in a binary: a constant std::string_view a file, made again when the file changes.
#
#   refrain_embed_texts(RESULT sources HEADER config/texts.h NAMESPACE refrain::config
#                       TEXTS kTreatyText data/treaty.txt ...)
#
# HEADER declares `extern const std::string_view kTreatyText;`, and RESULT is set to the .cpp files
# that define what it declares. At build time this file runs again, as a script, to write them.
#
# Line ends become "\n" whatever they were: compilers do not agree on what a raw literal keeps. The
# text is cut after whole lines into adjacent literals, since some compilers limit how long one is.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(REFRAIN_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

  function(refrain_embed_texts)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "" "RESULT;HEADER;NAMESPACE" "TEXTS")
    set(sources)
    while(ARG_TEXTS)
      list(POP_FRONT ARG_TEXTS name input)
      get_filename_component(input ${input} ABSOLUTE)
      set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
      add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DINPUT=${input} -DHEADER=${ARG_HEADER}
                -DNAMESPACE=${ARG_NAMESPACE} -DOUTPUT=${output} -P ${REFRAIN_EMBED_SCRIPT}
        DEPENDS ${input} ${REFRAIN_EMBED_SCRIPT}
        VERBATIM)
      list(APPEND sources ${output})
    endwhile()
    set(${ARG_RESULT} ${sources} PARENT_SCOPE)
  endfunction()
  return()
endif()

set(piece_size 12000)
file(READ "${INPUT}" text)
string(REPLACE "\r\n" "\n" text "${text}")
string(FIND "${text}" ")text\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} contains what ends a raw literal here: )text\"")
endif()

get_filename_component(file ${INPUT} NAME)
set(code "// Generated from ${file}.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
string(APPEND code "constinit const std::string_view ${NAME} =\n    \"\"")
string(LENGTH "${text}" left)
while(left GREATER 0)
  string(SUBSTRING "${text}" 0 ${piece_size} piece)
  string(FIND "${piece}" "\n" newline REVERSE)
  if(left GREATER piece_size AND newline GREATER 0)
    math(EXPR length "${newline} + 1")
    string(SUBSTRING "${text}" 0 ${length} piece)
  endif()
  string(LENGTH "${piece}" length)
  string(SUBSTRING "${text}" ${length} -1 text)
  string(LENGTH "${text}" left)
  string(APPEND code "\n    R\"text(${piece})text\"")
endwhile()
string(APPEND code ";\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE "${OUTPUT}" "${code}")
