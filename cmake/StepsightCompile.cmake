# stepsight_build: the flags that every target of ours is compiled with; never exported.
add_library(stepsight_build INTERFACE)
target_compile_options(stepsight_build INTERFACE
  # No fused multiply-adds behind our back: the same input gives the same bytes on every CPU.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>"
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${STEPSIGHT_WERROR}>>:-Werror>)
# What GCC says after inlining depends on its version and on the level of optimisation, and is often
# wrong in the standard library's own code: said, but no reason to stop.
target_compile_options(stepsight_build INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=array-bounds;-Wno-error=maybe-uninitialized;-Wno-error=restrict;-Wno-error=stringop-overflow;-Wno-error=stringop-overread>")
# GCC 12 sees overlapping copies in plain `"a" + string` (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(stepsight_build INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# A library is loaded only by the programs that use it: `predict` does not pay for the solver.
target_link_options(stepsight_build INTERFACE $<$<PLATFORM_ID:Linux>:LINKER:--as-needed>)

if(STEPSIGHT_SANITIZE)
  # Embedded data is assembled, by a compiler that may not be the C++ one.
  target_compile_options(stepsight_build INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${STEPSIGHT_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>"
    # GCC warns of paths that only its own instrumentation opens.
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  target_link_options(stepsight_build INTERFACE -fsanitize=${STEPSIGHT_SANITIZE})
endif()

# stepsight_cold: for code that calls and checks but does not compute (the command line, the tests).
# Optimising what CLI11 and the test framework expand to is most of a build's time and gains nothing.
add_library(stepsight_cold INTERFACE)
if(STEPSIGHT_SANITIZE)
  target_compile_options(stepsight_cold INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
else()
  target_compile_options(stepsight_cold INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
endif()

# ccache takes precompiled headers only when told that their defines may be trusted. A launcher
# named by the user is left alone unless it is ccache itself.
find_program(STEPSIGHT_CCACHE_PROGRAM ccache)
mark_as_advanced(STEPSIGHT_CCACHE_PROGRAM)
get_filename_component(stepsight_launcher "${CMAKE_CXX_COMPILER_LAUNCHER}" NAME)
if(STEPSIGHT_CCACHE AND STEPSIGHT_CCACHE_PROGRAM AND stepsight_launcher MATCHES "^(ccache)?$")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    ${STEPSIGHT_CCACHE_PROGRAM})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
