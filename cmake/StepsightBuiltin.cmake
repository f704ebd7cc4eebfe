# stepsight_builtin(TARGET FOLDER)
#
# Compiles every *.toml and *.csv under FOLDER into TARGET: an assembler file pulls the bytes in
# with .incbin (megabytes cost milliseconds, where a C array would cost minutes), and a generated
# .cpp lists them by their path below FOLDER for model/io/builtin.cpp.
function(stepsight_builtin target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/*.toml ${folder}/*.csv)
  list(SORT files)  # byte order: builtin.cpp searches the table by bisection
  set(assembler ".section .rodata\n")
  set(declarations "")
  set(rows "")
  set(absolute "")
  set(i 0)
  foreach(file IN LISTS files)
    string(APPEND assembler
      ".globl stepsight_builtin_${i}_begin\n.globl stepsight_builtin_${i}_end\n"
      "stepsight_builtin_${i}_begin:\n.incbin \"${folder}/${file}\"\n"
      "stepsight_builtin_${i}_end:\n.byte 0\n")
    string(APPEND declarations
      "extern \"C\" const char stepsight_builtin_${i}_begin[];\n"
      "extern \"C\" const char stepsight_builtin_${i}_end[];\n")
    string(APPEND rows
      "    {\"${file}\", stepsight_builtin_${i}_begin, stepsight_builtin_${i}_end},\n")
    list(APPEND absolute ${folder}/${file})
    math(EXPR i "${i} + 1")
  endforeach()
  # Without this note the linker would make the whole program's stack executable.
  string(APPEND assembler ".section .note.GNU-stack,\"\",%progbits\n")

  set(assembler_file ${CMAKE_CURRENT_BINARY_DIR}/builtin_data.S)
  set(table_file ${CMAKE_CURRENT_BINARY_DIR}/builtin_table.cpp)
  file(CONFIGURE OUTPUT ${assembler_file} CONTENT "${assembler}" @ONLY)
  file(CONFIGURE OUTPUT ${table_file} @ONLY CONTENT
"#include \"model/io/builtin_table.h\"

${declarations}
namespace stepsight {
std::span<const BuiltinRow> builtin_table() {
  static const std::array<BuiltinRow, ${i}> rows{{
${rows}  }};
  return rows;
}
}  // namespace stepsight
")
  set_source_files_properties(${assembler_file} PROPERTIES OBJECT_DEPENDS "${absolute}")
  target_sources(${target} PRIVATE ${assembler_file} ${table_file})
endfunction()
