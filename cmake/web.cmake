# The page: bundled by web/build.mjs, compressed, and put into the binary as the object library's bytes.
# Linking cru_web replaces the empty page of edges/http (a weak symbol).
find_program(NODE node REQUIRED)
file(GLOB_RECURSE WEB_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/*)
list(FILTER WEB_SOURCES EXCLUDE REGEX "(\\.test|_fixture)\\.ts$")
set(WEB_OUT ${CMAKE_BINARY_DIR}/web)

enable_language(ASM)
add_custom_command(
  OUTPUT ${WEB_OUT}/web_bytes.S ${WEB_OUT}/web_assets.cc
  COMMAND ${NODE} ${CMAKE_SOURCE_DIR}/web/build.mjs ${WEB_OUT}
  DEPENDS ${WEB_SOURCES} ${CMAKE_SOURCE_DIR}/web/build.mjs ${CMAKE_SOURCE_DIR}/web/xterm_for_csp.mjs
    ${CMAKE_SOURCE_DIR}/package-lock.json
  COMMENT "Bundling the page"
  VERBATIM)
set_source_files_properties(${WEB_OUT}/web_bytes.S PROPERTIES
  COMPILE_OPTIONS -Wno-unused-command-line-argument OBJECT_DEPENDS ${WEB_OUT}/web_assets.cc)
add_library(cru_web OBJECT ${WEB_OUT}/web_assets.cc ${WEB_OUT}/web_bytes.S)
target_link_libraries(cru_web PRIVATE cru_flags)
