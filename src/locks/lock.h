#pragma once
/// Rules of locks: what a key covers, when two keys overlap, who may take, refresh and
/// release. Keys are already resolved: see paths.h.
#include <optional>

#include "base/json.h"
#include "sessions/who.h"

namespace cru::coordination {

/// A path (`src/a.cc`), a glob (`src/**/*.cc`; a folder `src/` covers all below it) or a logical key
/// (`api:users`). In a glob `*` and `?` stay within a folder, `**` does not, and everything else is itself
/// (so `app/[id]/page.tsx` is a path).
struct LockKey {
  enum class Kind { path, glob, logical };
  Kind kind = Kind::path;
  std::string text;
  bool operator==(const LockKey&) const = default;
};
std::string_view name(LockKey::Kind kind);
LockKey::Kind lock_kind_from(std::string_view name);

/// `text` as a key, its path part not yet resolved. Outcomes: the key; invalid_argument (field file_path):
/// empty, too long, a control character, a backslash, a prefix with nothing behind it, a glob that is too
/// long, has too many wildcards, or has `..` behind one.
Result<LockKey> parse_lock_key(std::string_view text);
/// A glob as the folder before its first wildcard, to be resolved, and the rest. `src/` is all folder.
struct GlobParts {
  std::string folder, rest;
};
GlobParts split_glob(std::string_view glob);
/// The key of what lies at `folder` + `rest`, `folder` being resolved.
LockKey join_glob(std::string_view folder, std::string_view rest);
/// True if some file could be covered by both. Linear in the lengths of paths; bounded for two globs.
bool overlap(const LockKey& a, const LockKey& b);

struct Lock {
  LockKey key;
  std::string agent_id, agent_type, session_id;
  std::string reason;
  int64_t fencing_token = 0;
  Time locked_at = {};
  Deadline expires = {};
  std::string member = {};  ///< whose it is
};

constexpr int64_t min_ttl_minutes = 1, max_ttl_minutes = 480;

/// One who waits for its turn.
struct Waiting {
  LockKey key;
  std::string agent_id, session_id;
};

struct LockRequest {
  LockKey key;
  std::string reason;
  Duration ttl{0};
  std::optional<int64_t> fencing_token = {};
};

/// What a request comes to.
struct Taking {
  enum class What { acquire, refresh, held_by_other, behind_waiting, stale_token };
  What what = What::acquire;
  Lock lock = {};        ///< to be written, when acquired or refreshed; the token of a new one is still 0
  Lock other = {};       ///< whose it is, when held_by_other (or stale_token, if it is another's now)
  Waiting waiting = {};  ///< who was here before, when behind_waiting
};
/// `standing` are the locks that overlap the request, none expired; `mine` those of the session, all of them
/// unless `ahead` is empty: then what overlaps the request is enough; `ahead` those who have waited for
/// something overlapping for longer.
///  - the session holds this very key: renewed, never shortened, the same token;
///  - another session holds something that overlaps: refused, even if the agent is the same;
///  - another waits for it: refused, unless that one is waiting for the requester itself;
///  - a token that is not the current one of this key: refused.
Taking take(const Who& who, const LockRequest& request, const std::vector<Lock>& standing,
            const std::vector<Lock>& mine, const std::vector<Waiting>& ahead, const Moment& now);

/// A lock as JSON text: as it is told to whoever asks, and as events tell of it, with `why` if it is not
/// empty.
std::string lock_text(const Lock& lock, int64_t waiters);
std::string event_text(const Lock& lock, std::string_view why);
/// "src/a.cc is locked by agent-1 (refactoring) until 2026-11-16T01:00:00.000Z".
std::string describe(const Lock& lock, std::string_view path);

}  // namespace cru::coordination
