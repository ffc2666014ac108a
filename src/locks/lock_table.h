#pragma once
/// The table `file_locks`.
#include <span>

#include "locks/lock.h"
#include "sessions/sessions_service.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> lock_migrations();

/// From now on a session's end releases its locks, and says which they were.
void release_locks_at_session_end(Sessions& sessions);
/// Releases what a session holds, with a `lock.released` event each; how many.
int64_t release_locks_of(Tx& tx, std::string_view session_id, std::string_view why);

/// All that are recorded, expired ones too, oldest first.
std::vector<Lock> list_locks(Reader& reader);
std::vector<Lock> locks_of(Reader& reader, std::string_view session_id);
/// Those that overlap `key`, expired ones too.
std::vector<Lock> overlapping_locks(Reader& reader, const LockKey& key);
/// Those that overlap any of `keys`, in the order in which they were taken.
std::vector<Lock> overlapping_locks(Reader& reader, std::span<const LockKey> keys);
std::optional<Lock> find_lock(Reader& reader, const LockKey& key);
/// Errors: overloaded (more than 10,000 locks, or 1,000 that are globs or folders).
Result<> check_room(Reader& reader, LockKey::Kind kind);

/// Each change with its event; `type` is lock.released or lock.expired.
void add_lock(Tx& tx, const Lock& lock);
/// What `take` changes of a lock that the session has already.
void refresh_lock(Tx& tx, const Lock& lock);
void remove_lock(Tx& tx, const Lock& lock, std::string_view type, std::string_view why = {});
/// `locks` without those that are over, which are removed with their events.
std::vector<Lock> drop_expired(Tx& tx, std::vector<Lock> locks, const Moment& now);

}  // namespace cru::coordination
