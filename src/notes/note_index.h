#pragma once
/// NoteIndex: the derived index of the notes in a SQLite file of its own, and the meanings of their pieces in
/// memory once somebody searches. Blocking, and used by one job at a time. A file that is damaged or of
/// another version is thrown away.
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "notes/note_files.h"
#include "notes/notes_service.h"
#include "notes/ranking.h"
#include "notes/word_table.h"
#include "store/sqlite/connection.h"

namespace cru::notes {

/// What must be done for the index to be as the files are.
struct Plan {
  std::vector<Stamp> changed;  ///< new ones too
  std::vector<int64_t> removed;
};

class NoteIndex {
 public:
  struct Options {
    std::string file;
    std::string boot_id;  ///< after another boot the file is checked: it is not synced
    const WordTable* table = nullptr;
    size_t max_notes = 200'000, max_note_bytes = 4u << 20;
  };
  explicit NoteIndex(Options options) : options_(std::move(options)) {}

  /// Compares files and index below each of `paths`, a file's or a folder's; everywhere if none is given.
  Result<Plan> compare(const NoteFiles& files, const std::optional<std::vector<std::string>>& paths);
  /// Reads and takes in notes from `from` on for about `limit`; says how many.
  Result<size_t> take(const NoteFiles& files, const std::vector<Stamp>& changed, size_t from, Duration limit);
  Result<> remove(const std::vector<int64_t>& notes);
  /// After many changes: smaller and faster to search.
  Result<> settle();
  /// Throws everything away.
  Result<> forget();
  Result<int64_t> count();
  /// Below `folder` if it is not empty. `by_meaning` false leaves the vectors out, for comparison.
  Result<std::vector<Found>> search(const std::string& query, const std::string& folder, size_t limit,
                                    bool by_meaning = true);

 private:
  struct Known {
    int64_t id;
    Stamp stamp;
  };
  struct Held {
    int64_t piece, note;
    Meaning meaning;
  };
  /// Opens if need be, runs, and turns a failure into an error; a damaged file is thrown away. What was held
  /// in memory goes with any failure: it may be of rows that were taken back.
  template <class F>
  auto guarded(F work) -> Result<std::invoke_result_t<F>>;
  static bool is_damage(const Error& error) { return error.details.contains("damaged"); }
  void open();
  void let_go();
  void make_anew();
  Error give_up(Error error);
  Row only_row(std::string_view sql);
  void compare_below(const NoteFiles& files, const std::string& path, Plan& plan);
  std::vector<Known> known_below(const std::string& path);
  void drop(const std::vector<int64_t>& notes);
  void add(const Stamp& stamp, const std::string& text);
  void load_meanings();
  size_t count_pieces(const std::string& query, size_t most);
  void find_by_words(const std::vector<std::string>& words, const std::unordered_set<int64_t>* among,
                     std::vector<Candidate>& found);
  void find_by_meaning(const Meaning& meaning, const std::unordered_set<int64_t>* among,
                       std::vector<Candidate>& found);
  /// Nothing if the piece is not there.
  std::optional<Found> describe(const Ranked& ranked, const std::vector<std::string>& words,
                                const Meaning& meaning);

  const Options options_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::vector<Held> held_;
  bool holds_meanings_ = false;
};

template <class F>
auto NoteIndex::guarded(F work) -> Result<std::invoke_result_t<F>> {
  using R = std::invoke_result_t<F>;
  try {
    open();
    if constexpr (std::is_void_v<R>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const StoreFailure& failure) {
    return fail(give_up(failure.error));
  } catch (const std::exception& failure) {
    return fail(give_up({Code::internal, std::string("the notes index failed: ") + failure.what()}));
  }
}

}  // namespace cru::notes
