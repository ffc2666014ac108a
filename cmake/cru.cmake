# Flags for everything, and one function that turns a folder under src/ into a room.
option(CRU_TESTS "build the tests" OFF)
option(CRU_BENCH "build the benchmarks" OFF)
option(CRU_FUZZ "offer the target `fuzzers` (tests/fuzz)" OFF)
set(CRU_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")
# Reading the headers costs more than compiling a small file, so files are compiled in batches. 0: each file by
# itself, which shows a missing include and is what clang-tidy and editors want.
set(CRU_BATCH 10 CACHE STRING "how many files are compiled at once")

add_library(cru_flags INTERFACE)
# -fPIC for all, executables too, so that one precompiled header serves them; no timestamps and no absolute
# paths, so that ccache answers for every build folder.
target_compile_options(cru_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror -fno-omit-frame-pointer -fPIC
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
target_include_directories(cru_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(cru_flags INTERFACE CRU_VERSION="${PROJECT_VERSION}" SPDLOG_FMT_EXTERNAL)
target_link_options(cru_flags INTERFACE -fuse-ld=lld-19)
if(CRU_SANITIZE)
  target_compile_options(cru_flags INTERFACE -fsanitize=${CRU_SANITIZE} -fno-sanitize-recover=all)
  # Checks at every access to a member, which take a third of the time to compile and find nothing that the address
  # sanitizer would not report too, with a little less to go on. `make fuzz` keeps them.
  if(NOT CRU_FUZZ)
    target_compile_options(cru_flags INTERFACE
      -fno-sanitize=null,alignment,vptr,object-size,nonnull-attribute,returns-nonnull-attribute,function)
  endif()
  # Not -pie: each start of the program under test would relocate a thousand pages.
  target_link_options(cru_flags INTERFACE -fsanitize=${CRU_SANITIZE} -no-pie)
else()
  target_compile_options(cru_flags INTERFACE -fstack-protector-strong -ftrivial-auto-var-init=zero
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -ffunction-sections -fdata-sections)
  # Static C++ runtime: one file to copy, and half the start-up time of a verb.
  target_link_options(cru_flags INTERFACE -pie -static-libstdc++ -static-libgcc -Wl,-z,relro,-z,now -Wl,--gc-sections,--icf=safe)
endif()

find_package(Threads REQUIRED)
find_package(GTest)

# The product under test is optimised a little: simulated worlds then run four times as fast, which is worth more
# than the time to compile. Inlining is not: it doubles that time. The tests themselves are not optimised.
add_library(cru_product_flags INTERFACE)
target_link_libraries(cru_product_flags INTERFACE cru_flags)
target_compile_options(cru_product_flags INTERFACE "$<$<CONFIG:Debug>:SHELL:-O1 -mllvm -inline-threshold=0>")

# One precompiled header for the product, one that adds GoogleTest for its tests.
add_library(cru_precompiled OBJECT ${CMAKE_SOURCE_DIR}/src/base/precompiled.cc)
target_link_libraries(cru_precompiled PRIVATE cru_product_flags)
target_precompile_headers(cru_precompiled PRIVATE ${CMAKE_SOURCE_DIR}/src/base/precompiled.h)
if(CRU_TESTS)
  add_library(cru_precompiled_tests OBJECT ${CMAKE_SOURCE_DIR}/src/base/precompiled.cc)
  target_link_libraries(cru_precompiled_tests PRIVATE cru_flags GTest::gtest)
  target_precompile_headers(cru_precompiled_tests PRIVATE ${CMAKE_SOURCE_DIR}/src/base/precompiled_tests.h)
endif()

# cru_batches(OUT NAME FILE…): files that include these, CRU_BATCH each. Their includes are written from
# src/, unlike those of CMake's own unity builds, so that ccache finds them in every folder.
function(cru_batches OUT NAME)
  set(FILES ${ARGN})
  set(BATCHES)
  # A file that is compiled with definitions of its own stands alone.
  foreach(FILE ${ARGN})
    get_source_file_property(DEFINITIONS ${FILE} COMPILE_DEFINITIONS)
    if(DEFINITIONS)
      list(REMOVE_ITEM FILES ${FILE})
      list(APPEND BATCHES ${FILE})
    endif()
  endforeach()
  list(LENGTH FILES COUNT)
  if(CRU_BATCH LESS 2 OR COUNT LESS 2)
    set(${OUT} ${BATCHES} ${FILES} PARENT_SCOPE)
    return()
  endif()
  # Batches of one size, so that no batch is left with a file or two.
  math(EXPR PARTS "(${COUNT} + ${CRU_BATCH} - 1) / ${CRU_BATCH}")
  math(EXPR SIZE "(${COUNT} + ${PARTS} - 1) / ${PARTS}")
  math(EXPR LAST "${PARTS} - 1")
  foreach(NUMBER RANGE ${LAST})
    math(EXPR FIRST "${NUMBER} * ${SIZE}")
    if(NOT FIRST LESS COUNT)
      break()
    endif()
    list(SUBLIST FILES ${FIRST} ${SIZE} BATCH)
    set(TEXT "")
    foreach(FILE ${BATCH})
      file(RELATIVE_PATH FILE ${CMAKE_SOURCE_DIR}/src ${FILE})
      string(APPEND TEXT "#include \"${FILE}\"\n")
    endforeach()
    set(SOURCE ${CMAKE_BINARY_DIR}/batches/${NAME}_${NUMBER}.cc)
    file(CONFIGURE OUTPUT ${SOURCE} CONTENT "${TEXT}" @ONLY)
    list(APPEND BATCHES ${SOURCE})
  endforeach()
  set(${OUT} ${BATCHES} PARENT_SCOPE)
endfunction()

# cru_test_program(NAME LINK target… FILES file…)
function(cru_test_program NAME)
  cmake_parse_arguments(TEST "" "" "LINK;FILES" ${ARGN})
  cru_batches(BATCHES ${NAME} ${TEST_FILES})
  add_executable(${NAME} ${BATCHES})
  target_link_libraries(${NAME} PRIVATE ${TEST_LINK} GTest::gtest GTest::gtest_main)
  target_precompile_headers(${NAME} REUSE_FROM cru_precompiled_tests)
endfunction()

# cru_add_test(NAME COMMAND word… [COST n] [ENVIRONMENT name=value…]): a ctest test with a GoogleTest report of
# its own. By itself GoogleTest names the report after the program, and two tests of one program that run at
# once overwrite each other's.
function(cru_add_test NAME)
  cmake_parse_arguments(TEST "" "COST" "COMMAND;ENVIRONMENT" ${ARGN})
  add_test(NAME ${NAME} COMMAND ${TEST_COMMAND})
  list(APPEND TEST_ENVIRONMENT GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/reports/${NAME}.xml)
  set_tests_properties(${NAME} PROPERTIES ENVIRONMENT "${TEST_ENVIRONMENT}")
  if(TEST_COST)
    set_tests_properties(${NAME} PROPERTIES COST ${TEST_COST})
  endif()
endfunction()

# cru_room(NAME DEPENDS room… LIBS library… TESTS_NEED room…): src/NAME/**/*.cc as a library `cru_NAME`,
# with *_test.cc beside the code as the test program `NAME_test`.
function(cru_room NAME)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LIBS;TESTS_NEED" ${ARGN})
  string(REPLACE "/" "_" TARGET ${NAME})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.cc)
  list(FILTER SOURCES EXCLUDE REGEX "/precompiled\\.cc$")
  set(TESTS ${SOURCES})
  list(FILTER SOURCES EXCLUDE REGEX "_test\\.cc$")
  list(FILTER TESTS INCLUDE REGEX "_test\\.cc$")
  cru_batches(BATCHES ${TARGET} ${SOURCES})
  add_library(cru_${TARGET} STATIC ${BATCHES})
  target_link_libraries(cru_${TARGET} PUBLIC cru_flags PRIVATE cru_product_flags)
  target_precompile_headers(cru_${TARGET} REUSE_FROM cru_precompiled)
  foreach(DEPEND ${ROOM_DEPENDS})
    string(REPLACE "/" "_" DEPEND ${DEPEND})
    target_link_libraries(cru_${TARGET} PUBLIC cru_${DEPEND})
  endforeach()
  target_link_libraries(cru_${TARGET} PUBLIC ${ROOM_LIBS})
  if(CRU_TESTS AND TESTS)
    list(TRANSFORM ROOM_TESTS_NEED PREPEND cru_)
    cru_test_program(${TARGET}_test LINK cru_${TARGET} ${ROOM_TESTS_NEED} FILES ${TESTS})
    # What takes long begins early, so that no core is idle at the end.
    set(COST)
    if(NAME MATCHES "^(keeper|edges|platform)$")
      set(COST COST 50)
    endif()
    cru_add_test(${TARGET} COMMAND ${TARGET}_test ${COST})
  endif()
endfunction()
