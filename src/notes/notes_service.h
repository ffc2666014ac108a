#pragma once
/// Notes: the project's markdown, read, listed and searched by meaning. The index is derived: it is made
/// again whenever it is lost, and lives in `.coven/notes.db`, apart from the store.
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "platform/loop/pool.h"
#include "store/store.h"

namespace cru::notes {

struct Options {
  std::string root;
  std::string index_file;  ///< ROOT/.coven/notes.db
  size_t max_notes = 200'000;
  size_t max_note_bytes = 4u << 20;
};

struct Note {
  std::string path;  ///< relative to the root
  std::string title;
  std::string text;
  int64_t bytes = 0;  ///< of the whole file
  bool truncated = false;
  int64_t next_offset = 0;  ///< where to read on, if it is truncated
  Time changed_at;
};

struct NoteList {
  std::vector<Note> notes;  ///< without their text, by path
  bool more = false;
};

struct Found {
  std::string path, title, heading, excerpt;
  int line = 0;
  double score = 0;  ///< 0 to 1
};

struct SearchReply {
  std::vector<Found> results;  ///< best first
  int64_t notes = 0;           ///< how many were searched
  bool complete = true;        ///< false while the index is being made
  std::string method;          ///< "hybrid", or "words" where no vectors are to be had
};

struct IndexState {
  int64_t notes = 0, indexed = 0, waiting = 0;
  bool is_indexing = false;
  std::string method;
};

class Notes {
 public:
  Notes(Loop& loop, Store& store, Pool& pool, Options options);
  ~Notes();
  /// By path, or by a wikilink's name (`[[code-reviewer-3f]]` or `code-reviewer-3f`), `#heading` for one
  /// section of it. At most `limit` bytes from `offset`, whole characters; what is not UTF-8 is replaced.
  /// Errors: not_found with the nearest names; invalid_argument for a path that leaves the project or is no
  /// markdown; conflict when a name means several notes.
  Task<Result<Note>> read(std::string path, int64_t offset, int64_t limit);
  Task<Result<NoteList>> list(std::string folder, std::string after, int64_t limit);
  /// Waits up to `patience` for changes already seen to be indexed.
  Task<Result<SearchReply>> search(std::string query, std::string folder, int64_t limit,
                                   Duration patience = std::chrono::seconds(2));
  /// Brings the index up to date, or rebuilds it. Events `notes.progress{indexed,total}`,
  /// `notes.indexed{notes,changed,removed,duration_ms}`.
  Task<Result<IndexState>> index(bool rebuild);
  Task<IndexState> state();
  /// Begins to watch once there is an index or somebody searched: a project nobody searches costs nothing.
  Task<void> start();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cru::notes
