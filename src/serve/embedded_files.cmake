# Writes embedded.S and embedded.cc, which carry openapi.json and the console's files, into the build folder.
include(${PROJECT_SOURCE_DIR}/web/files.cmake)  # sets brig_web_files
set(types html "text/html" js "text/javascript" css "text/css" svg "image/svg+xml" json "application/json")
set(asm "    .section .rodata\n")
set(table "")
set(declarations "")
set(count 0)
find_program(brig_gzip gzip REQUIRED)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/packed)
set(embedded_packed "")
set(embedded_inputs ${CMAKE_CURRENT_SOURCE_DIR}/openapi.json)
foreach(file IN LISTS brig_web_files)
  list(APPEND embedded_inputs ${PROJECT_SOURCE_DIR}/web/${file})
endforeach()
foreach(path IN LISTS embedded_inputs)
  cmake_path(GET path FILENAME name)
  cmake_path(GET path EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  list(FIND types ${extension} at)
  if(at LESS 0)
    message(FATAL_ERROR "${path}: what type is .${extension}?")
  endif()
  math(EXPR at "${at} + 1")
  list(GET types ${at} type)
  set(symbol brig_embedded_${count})
  string(APPEND asm "    .global ${symbol}\n    .hidden ${symbol}\n${symbol}:\n    .incbin \"${path}\"\n"
                    "    .global ${symbol}_end\n    .hidden ${symbol}_end\n${symbol}_end:\n    .byte 0\n")
  # The same by gzip, for who takes it.
  set(packed ${CMAKE_CURRENT_BINARY_DIR}/packed/${name}.gz)
  add_custom_command(OUTPUT ${packed} COMMAND sh -c "${brig_gzip} -9nc '${path}' >'${packed}'" DEPENDS ${path} VERBATIM)
  list(APPEND embedded_packed ${packed})
  string(APPEND asm "    .global ${symbol}_packed\n    .hidden ${symbol}_packed\n${symbol}_packed:\n    .incbin \"${packed}\"\n"
                    "    .global ${symbol}_packed_end\n    .hidden ${symbol}_packed_end\n${symbol}_packed_end:\n    .byte 0\n")
  string(APPEND declarations "extern \"C\" const char ${symbol}_packed[], ${symbol}_packed_end[];\n")
  string(APPEND declarations "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
  string(APPEND table "    {\"${name}\", \"${type}; charset=utf-8\", "
                      "{${symbol}, static_cast<std::size_t>(${symbol}_end - ${symbol})}, "
                      "{${symbol}_packed, static_cast<std::size_t>(${symbol}_packed_end - ${symbol}_packed)}},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND asm "    .section .note.GNU-stack, \"\", %progbits\n")
file(CONFIGURE OUTPUT embedded.S CONTENT "${asm}" @ONLY)
file(CONFIGURE OUTPUT embedded.cc CONTENT "#include \"serve/embedded.h\"

${declarations}
namespace brig::serve {
namespace {

const EmbeddedFile kFiles[] = {
${table}};

}  // namespace

std::string_view openapi_text() { return kFiles[0].bytes; }
std::span<const EmbeddedFile> console_files() { return std::span(kFiles).subspan(1); }

}  // namespace brig::serve
" @ONLY)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/embedded.S PROPERTIES OBJECT_DEPENDS "${embedded_inputs};${embedded_packed}")

# An explicit list can forget a file.
file(GLOB on_disk RELATIVE ${PROJECT_SOURCE_DIR}/web CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*.html
     ${PROJECT_SOURCE_DIR}/web/*.js ${PROJECT_SOURCE_DIR}/web/*.css)
list(REMOVE_ITEM on_disk ${brig_web_files})
if(on_disk)
  message(WARNING "web: not in files.cmake: ${on_disk}")
endif()
