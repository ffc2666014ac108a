#include "locks/lock_table.h"

#include <algorithm>
#include <map>

#include "store/columns.h"

namespace cru::coordination {
namespace {

constexpr int64_t max_locks = 10'000, max_globs = 1'000;
constexpr size_t few_keys = 4;  ///< that are looked up one by one rather than among all locks

constexpr Migration all_migrations[] = {{"locks", 1, R"(
CREATE TABLE file_locks(
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, agent_id TEXT NOT NULL, agent_type TEXT NOT NULL, session_id TEXT NOT NULL,
  reason TEXT NOT NULL, fencing_token INTEGER NOT NULL, locked_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  expires_boot_id TEXT NOT NULL, expires_boot INTEGER NOT NULL);
CREATE INDEX file_locks_of_session ON file_locks(session_id);
CREATE INDEX file_locks_globs ON file_locks(kind) WHERE kind = 'glob';
)"},
                                        {"locks", 2, R"(
ALTER TABLE file_locks ADD COLUMN member TEXT NOT NULL DEFAULT '';
UPDATE file_locks SET member =
  coalesce((SELECT member FROM agent_sessions WHERE agent_sessions.session_id = file_locks.session_id), '');
)"}};

constexpr auto lock_columns = columns<Lock>(
    "file_locks",
    part(&Lock::key, column("key", &LockKey::text), column<ByName<lock_kind_from>>("kind", &LockKey::kind)),
    column("agent_id", &Lock::agent_id), column("agent_type", &Lock::agent_type),
    column("session_id", &Lock::session_id), column("reason", &Lock::reason),
    column("fencing_token", &Lock::fencing_token), column("locked_at", &Lock::locked_at),
    part(&Lock::expires, column("expires_at", &Deadline::wall), column("expires_boot_id", &Deadline::boot_id),
         column("expires_boot", &Deadline::boot)),
    column("member", &Lock::member));

void emit(Tx& tx, const Lock& lock, std::string_view type, std::string_view why) {
  tx.emit({std::string(type), lock.agent_id, {}, event_text(lock, why)});
}

}  // namespace

std::span<const Migration> lock_migrations() { return all_migrations; }

void release_locks_at_session_end(Sessions& sessions) {
  sessions.on_end([](Tx& tx, SessionEnd& end) {
    for (const auto& lock : locks_of(tx, end.session.session_id)) end.locks.push_back(lock.key.text);
    if (!end.ending.keeps) end.freed.locks = release_locks_of(tx, end.session.session_id, end.ending.why);
  });
}

int64_t release_locks_of(Tx& tx, std::string_view session_id, std::string_view why) {
  auto held = locks_of(tx, session_id);
  for (const auto& lock : held) remove_lock(tx, lock, "lock.released", why);
  return static_cast<int64_t>(held.size());
}

std::vector<Lock> list_locks(Reader& reader) {
  return read_rows<lock_columns, "SELECT {} FROM file_locks ORDER BY fencing_token">(reader);
}

std::vector<Lock> locks_of(Reader& reader, std::string_view session_id) {
  return read_rows<lock_columns, "SELECT {} FROM file_locks WHERE session_id = ? ORDER BY fencing_token">(
      reader, session_id);
}

std::optional<Lock> find_lock(Reader& reader, const LockKey& key) {
  return read_row<lock_columns, "SELECT {} FROM file_locks WHERE key = ?">(reader, key.text);
}

std::vector<Lock> overlapping_locks(Reader& reader, const LockKey& key) {
  std::vector<Lock> found;
  if (key.kind == LockKey::Kind::glob) {
    found =
        read_rows<lock_columns, "SELECT {} FROM file_locks WHERE kind <> 'logical' ORDER BY fencing_token">(
            reader);
  } else if (key.kind == LockKey::Kind::path) {
    // A path meets itself and globs: the other paths, mostly the most by far, need no reading. They are put
    // in order here, for SQLite would set up two coroutines and a sorter for what is mostly one row.
    found = read_rows<lock_columns,
                      "SELECT {} FROM file_locks WHERE key = ?1 UNION ALL SELECT {} FROM file_locks"
                      " WHERE kind = 'glob' AND key <> ?1">(reader, key.text);
    std::ranges::sort(found, {}, &Lock::fencing_token);
  } else if (auto same = find_lock(reader, key)) {
    found.push_back(*std::move(same));
  }
  std::erase_if(found, [&](const Lock& lock) { return !overlap(lock.key, key); });
  return found;
}

std::vector<Lock> overlapping_locks(Reader& reader, std::span<const LockKey> keys) {
  if (keys.size() > few_keys) {
    auto all = list_locks(reader);
    std::erase_if(all, [&](const Lock& lock) {
      return std::ranges::none_of(keys, [&](const LockKey& key) { return overlap(lock.key, key); });
    });
    return all;
  }
  std::map<std::string, Lock> found;
  for (const auto& key : keys)
    for (auto& lock : overlapping_locks(reader, key)) found.try_emplace(lock.key.text, std::move(lock));
  std::vector<Lock> locks;
  for (auto& [text, lock] : found) locks.push_back(std::move(lock));
  std::ranges::sort(locks, {}, &Lock::fencing_token);
  return locks;
}

Result<> check_room(Reader& reader, LockKey::Kind kind) {
  auto full = [](std::string message) {
    return fail(Code::overloaded, std::move(message), "", "release some locks, or wait until some expire");
  };
  if (reader.row("SELECT count(*) FROM file_locks")->integer(0) >= max_locks) return full("too many locks");
  if (kind == LockKey::Kind::glob &&
      reader.row("SELECT count(*) FROM file_locks WHERE kind = 'glob'")->integer(0) >= max_globs)
    return full("too many locks on globs and folders");
  return {};
}

void add_lock(Tx& tx, const Lock& lock) {
  replace_row<lock_columns>(tx, lock);
  emit(tx, lock, "lock.acquired", {});
}

void refresh_lock(Tx& tx, const Lock& lock) {
  update_row<lock_columns, "key", "reason", "expires_at", "expires_boot_id", "expires_boot">(tx, lock);
  emit(tx, lock, "lock.refreshed", {});
}

void remove_lock(Tx& tx, const Lock& lock, std::string_view type, std::string_view why) {
  tx.exec("DELETE FROM file_locks WHERE key = ? AND fencing_token = ?", lock.key.text, lock.fencing_token);
  emit(tx, lock, type, why);
}

std::vector<Lock> drop_expired(Tx& tx, std::vector<Lock> locks, const Moment& now) {
  std::erase_if(locks, [&](const Lock& lock) {
    if (!passed(lock.expires, now)) return false;
    remove_lock(tx, lock, "lock.expired");
    return true;
  });
  return locks;
}

}  // namespace cru::coordination
