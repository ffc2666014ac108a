# The table of word vectors stands in the binary as it is in the tree; without the file notes are found by words alone.
set(WORDS_FILE ${CMAKE_SOURCE_DIR}/src/notes/words.bin)
if(EXISTS ${WORDS_FILE})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/notes/word_table.cc PROPERTIES
    COMPILE_DEFINITIONS "CRU_WORDS_FILE=\"${WORDS_FILE}\"" OBJECT_DEPENDS ${WORDS_FILE})
endif()
# The labelled set that the ranking is held to.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/notes/note_index_test.cc PROPERTIES
  COMPILE_DEFINITIONS "CRU_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\"")
