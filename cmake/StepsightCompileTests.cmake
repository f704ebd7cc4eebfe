# stepsight_compile_test(FILE CASES N)
#
# Compiles FILE as it is, which must work, and with STEPSIGHT_MUST_NOT_COMPILE defined as 1..N,
# each of which must be refused because of the types: a missing header or a slip in the test would
# also "not compile" and prove nothing.
function(stepsight_compile_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CASES" "")
  get_filename_component(name ${file} NAME_WE)
  set(compile ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I${PROJECT_SOURCE_DIR}
    ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  add_test(NAME "compile:${name}: good code is accepted" COMMAND ${compile})
  set_tests_properties("compile:${name}: good code is accepted" PROPERTIES LABELS compile)
  foreach(case RANGE 1 ${arg_CASES})
    set(test "compile:${name}: bad code ${case} is refused")
    add_test(NAME ${test} COMMAND ${compile} -DSTEPSIGHT_MUST_NOT_COMPILE=${case})
    set_tests_properties(${test} PROPERTIES LABELS compile ENVIRONMENT LC_ALL=C
      PASS_REGULAR_EXPRESSION
      "no match for|invalid operands|cannot convert|could not convert|no viable|conversion from")
  endforeach()
endfunction()

# stepsight_header_test(): every header of our libraries compiles on its own. Once is enough, so
# sanitizer builds leave it out.
function(stepsight_header_test)
  if(STEPSIGHT_SANITIZE)
    return()
  endif()
  add_test(NAME "compile:every header stands on its own" COMMAND ${CMAKE_COMMAND}
    --build ${CMAKE_BINARY_DIR} --target all_verify_interface_header_sets)
  set_tests_properties("compile:every header stands on its own" PROPERTIES
    LABELS compile RESOURCE_LOCK build_tree)
endfunction()
