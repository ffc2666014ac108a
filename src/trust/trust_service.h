#pragma once
/// Trust: tells what of the project waits, and records what a person trusts. Its reader asks `checks` for
/// what is trusted by now. The only writer of the project's record.
#include <memory>
#include <set>

#include "platform/files/folder_watch.h"
#include "platform/loop/pool.h"
#include "store/store.h"
#include "trust/item.h"

namespace cru::trust {

struct Options {
  std::string root;
  std::string folder;  ///< of the record; see record_folder
  /// All that needs trust as it is now, trusted or not; called on a pool thread. `named` are files that a
  /// person named: they are among them, whatever they are.
  std::function<std::vector<Item>(const std::vector<std::string>& named)> look;
  /// Puts in force what has changed; awaited before a grant is answered.
  std::function<Task<void>()> apply = {};
};

struct Shown {
  Item item;
  State state = State::added;
  std::string sha256, difference;
};
struct Listing {
  std::vector<Shown> waiting;                ///< by path; what is refused too
  Record trusted;                            ///< of what is there, as it is there
  std::map<std::string, std::string> texts;  ///< of what is trusted, by path
};
json::object to_json(const Listing& listing);

class Trust {
 public:
  Trust(Loop& loop, Store& store, Pool& pool, Options options);
  /// What is trusted by now, for the rooms; copies of it live as long as the Trust.
  Checks checks() const;

  /// Begins to watch `.crucible`: `trust.changed` tells that something else waits than before. What waits at
  /// the start is not told.
  Task<void> start();
  Task<Result<Listing>> list(std::vector<std::string> named);
  /// Trusts each path with this SHA-256. Errors: conflict if a file is not that any more, and then nothing is
  /// trusted; not_found for what needs no trust; forbidden for what cannot be checked.
  Task<Result<Listing>> grant(std::map<std::string, std::string> items, bool once);
  /// Forgets these paths, or all. Errors: not_found for one that is not trusted.
  Task<Result<Listing>> revoke(std::vector<std::string> paths);
  /// A person has written this by a verb of ours: it is trusted as it was written, if it needs trust.
  Task<Result<>> written(std::string path, std::string text);

 private:
  /// One change at a time, each of what the one before has left.
  Task<Result<>> keep(std::function<void(Record&)> change, std::map<std::string, std::string> texts);
  Task<void> tell();
  void changed();

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  const Options options_;
  std::shared_ptr<const Record> record_;
  bool is_keeping_ = false;
  Signal kept_;
  std::unique_ptr<FolderWatch> watch_;
  std::set<std::string> told_;  ///< what waited when that was told last
  bool is_telling_ = false, tell_again_ = false;
};

}  // namespace cru::trust
