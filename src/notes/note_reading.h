#pragma once
/// Reading one note, by path or by name, and listing them: looks at the files themselves and needs no index.
/// Blocking: for the pool.
#include "notes/note_files.h"
#include "notes/notes_service.h"

namespace cru::notes {

/// What Notes::read promises.
Result<Note> read_note(const Options& options, const std::string& wanted, int64_t offset, int64_t limit);
/// What Notes::list promises.
Result<NoteList> list_notes(const Options& options, const std::string& folder, const std::string& after,
                            int64_t limit);

}  // namespace cru::notes
