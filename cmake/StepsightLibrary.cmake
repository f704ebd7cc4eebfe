# stepsight_library(NAME [PUBLIC targets...] [PRIVATE targets...])
#
# Makes stepsight_NAME (alias stepsight::NAME) of all *.cpp and *.h in the current folder, not of
# its subfolders. A folder without *.cpp becomes an INTERFACE library. Every header joins a file
# set, so that the target all_verify_interface_header_sets proves that it compiles on its own.
function(stepsight_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  set(target stepsight_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC}
      PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:stepsight_build>)
    set(visible PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC})
    set(visible INTERFACE)
  endif()
  add_library(stepsight::${name} ALIAS ${target})
  target_include_directories(${target} ${visible} ${PROJECT_SOURCE_DIR})
  if(headers)
    target_sources(${target} ${visible}
      FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  endif()
endfunction()
