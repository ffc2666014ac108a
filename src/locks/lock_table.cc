#include "locks/lock_table.h"

#include <algorithm>
#include <map>

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

#define LOCK_COLUMNS                                                                            \
  "key, kind, agent_id, agent_type, session_id, reason, fencing_token, locked_at, expires_at, " \
  "expires_boot_id, expires_boot, member"

Lock to_lock(const Row& row) {
  return {.key = {lock_kind_from(row.text(1)), row.text(0)},
          .agent_id = row.text(2),
          .agent_type = row.text(3),
          .session_id = row.text(4),
          .reason = row.text(5),
          .fencing_token = row.integer(6),
          .locked_at = row.time(7),
          .expires = {row.time(8), row.text(9), row.duration(10)},
          .member = row.text(11)};
}

std::vector<Lock> to_locks(const std::vector<Row>& rows) {
  std::vector<Lock> locks;
  for (const auto& row : rows) locks.push_back(to_lock(row));
  return locks;
}

void emit(Tx& tx, const Lock& lock, std::string_view type, std::string_view why) {
  auto data = to_json(lock, 0);
  data.erase("waiters");
  if (!why.empty()) data["why"] = why;
  tx.emit({std::string(type), lock.agent_id, std::move(data)});
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
  return to_locks(reader.rows("SELECT " LOCK_COLUMNS " FROM file_locks ORDER BY fencing_token"));
}

std::vector<Lock> locks_of(Reader& reader, std::string_view session_id) {
  return to_locks(reader.rows(
      "SELECT " LOCK_COLUMNS " FROM file_locks WHERE session_id = ? ORDER BY fencing_token", session_id));
}

std::optional<Lock> find_lock(Reader& reader, const LockKey& key) {
  auto row = reader.row("SELECT " LOCK_COLUMNS " FROM file_locks WHERE key = ?", key.text);
  if (!row) return {};
  return to_lock(*row);
}

std::vector<Lock> overlapping_locks(Reader& reader, const LockKey& key) {
  std::vector<Lock> found;
  if (key.kind == LockKey::Kind::glob) {
    found = to_locks(reader.rows("SELECT " LOCK_COLUMNS
                                 " FROM file_locks WHERE kind <> 'logical' ORDER BY fencing_token"));
  } else if (key.kind == LockKey::Kind::path) {
    // A path meets itself and globs: the other paths, mostly the most by far, need no reading.
    found = to_locks(reader.rows("SELECT " LOCK_COLUMNS
                                 " FROM file_locks WHERE key = ?1 UNION ALL SELECT " LOCK_COLUMNS
                                 " FROM file_locks WHERE kind = 'glob' AND key <> ?1 ORDER BY fencing_token",
                                 key.text));
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

void put_lock(Tx& tx, const Lock& lock, std::string_view type) {
  tx.exec("INSERT OR REPLACE INTO file_locks(" LOCK_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          lock.key.text, name(lock.key.kind), lock.agent_id, lock.agent_type, lock.session_id, lock.reason,
          lock.fencing_token, lock.locked_at, lock.expires.wall, lock.expires.boot_id,
          lock.expires.boot.count(), lock.member);
  emit(tx, lock, type, {});
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
