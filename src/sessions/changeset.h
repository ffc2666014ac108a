#pragma once
/// Changesets: what a session changed, from one commit to another and file by file. Only reads them: they are
/// written where a session ends or completes work (session_table.h).
#include <optional>

#include "base/json.h"
#include "base/time.h"
#include "store/store.h"

namespace cru::coordination {

/// Stands for HEAD in a repository without a commit, as in git's own hooks. Empty: outside git, or unknown.
inline constexpr std::string_view no_commit = "0000000000000000000000000000000000000000";

struct Changeset {
  std::string id = {};  ///< empty: of a live session, until now
  std::string session_id;
  std::string base = {}, head = {};  ///< HEAD at the beginning and at the end
  std::vector<std::string> files = {};
  Time created_at = {};
};
/// The first 1,000 files; `file_count` counts all.
json::object to_json(const Changeset& changeset);

std::optional<Changeset> find_changeset(Reader& reader, std::string_view id);
/// Newest first.
std::vector<Changeset> list_changesets(Reader& reader, std::string_view session_id, int64_t limit);

struct Commit {
  std::string id, author, subject;
  Time created_at = {};
};
struct Commits {
  std::vector<Commit> newest_first = {};
  bool is_cut = false;  ///< there are more
};
/// What is reachable from `head` and not from `base`: also what others committed meanwhile. At most 100.
/// Blocks: call it on a pool thread. Errors: not_found if git cannot tell (any more).
Result<Commits> commits_between(const std::string& folder, const std::string& base, const std::string& head);
json::array to_json(const Commits& commits);

}  // namespace cru::coordination
