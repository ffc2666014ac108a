#pragma once
/// Rules of locks: what a key covers, when two keys overlap, who may take, refresh and
/// release. Keys are already resolved: see paths.h.
#include <optional>

#include "base/json.h"
#include "coordination/who.h"

namespace cru::coordination {

/// A path (`src/a.cc`), a glob (`src/**/*.cc`; a folder `src/` covers all below it) or a logical key
/// (`api:users`).
struct LockKey {
  enum class Kind { path, glob, logical };
  Kind kind = Kind::path;
  std::string text;
};
/// `text` as a key, its path part not yet resolved. Outcomes: the key; invalid_argument (field file_path):
/// empty, NUL, backslash, `..` that leaves the project, an absolute path outside it, a glob that is too long
/// or has too many stars.
Result<LockKey> parse_lock_key(std::string_view text);
/// True if some file could be covered by both. Linear in the lengths of paths; bounded for two globs.
bool overlap(const LockKey& a, const LockKey& b);

struct Lock {
  LockKey key;
  std::string agent_id, agent_type, session_id;
  std::string reason;
  int64_t fencing_token = 0;
  Time locked_at = {};
  Deadline expires = {};
};

json::object to_json(const Lock& lock, int64_t waiters);

}  // namespace cru::coordination
