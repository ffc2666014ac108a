# jemalloc beside the C library's allocator and not in its place: whoever wants it calls it (platform/process/heap.h).
# Debian's library defines malloc and its kin, and C++'s new, so our copy has the former under other names and the latter not
# at all.
find_library(JEMALLOC_A libjemalloc_pic.a REQUIRED)
set(RENAMED)
foreach(NAME malloc calloc realloc free posix_memalign aligned_alloc memalign valloc malloc_usable_size)
  list(APPEND RENAMED --redefine-sym ${NAME}=jemalloc_${NAME})
endforeach()
# It also begins at once in every process, and does what the environment and /etc/malloc.conf say (write profiles, print,
# abort). Ours begins when it is first called, and asks functions that find nothing (platform/process/heap.cc).
list(APPEND RENAMED --remove-section .init_array --remove-section .rela.init_array
  --redefine-sym secure_getenv=jemalloc_no_setting --redefine-sym readlink=jemalloc_no_link)
set(JEMALLOC_BESIDE_A ${CMAKE_BINARY_DIR}/libjemalloc_beside.a)
add_custom_command(OUTPUT ${JEMALLOC_BESIDE_A} DEPENDS ${JEMALLOC_A} VERBATIM
  COMMAND ${CMAKE_OBJCOPY} ${RENAMED} ${JEMALLOC_A} ${JEMALLOC_BESIDE_A}
  COMMAND ${CMAKE_AR} d ${JEMALLOC_BESIDE_A} jemalloc_cpp.pic.o)
add_custom_target(jemalloc_beside DEPENDS ${JEMALLOC_BESIDE_A})
