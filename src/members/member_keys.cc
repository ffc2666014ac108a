#include "members/member_keys.h"

#include <fmt/format.h>

#include "store/columns.h"

namespace cru::members {
namespace {

constexpr int64_t max_keys = 256;
constexpr std::string_view of_session = "session:", of_connection = "connection:";

std::string session_key(std::string_view session) { return fmt::format("{}{}", of_session, session); }

bool note_key(Tx& tx, const std::string& key, std::string_view member, bool begins) {
  auto known =
      read_value<bool>(tx, "SELECT is_open FROM member_keys WHERE key = ? AND member = ?", key, member);
  if (known && (*known || !begins)) return false;
  tx.exec("INSERT OR REPLACE INTO member_keys(key, member, is_open, noted_at) VALUES(?, ?, 1, ?)", key,
          member, tx.now());
  tx.exec(
      "DELETE FROM member_keys WHERE member = ?1 AND key IN (SELECT key FROM member_keys WHERE member = ?1 "
      "ORDER BY noted_at DESC, key LIMIT -1 OFFSET ?2)",
      member, max_keys);
  return true;
}

}  // namespace

MemberKeys keys_of(Reader& reader, std::string_view member) {
  MemberKeys keys;
  for (const auto& [key, is_open] : read_values<std::string, bool>(
           reader, "SELECT key, is_open FROM member_keys WHERE member = ?", member)) {
    if (key.starts_with(of_session))
      keys.sessions.push_back({key.substr(of_session.size()), is_open});
    else
      keys.connections.push_back(key.substr(of_connection.size()));
  }
  return keys;
}

bool has_keys(Reader& reader, std::string_view member) {
  return reader.row("SELECT 1 FROM member_keys WHERE member = ?", member).has_value();
}

std::optional<std::string> find_holder(Reader& reader, std::string_view session, std::string_view scope) {
  return read_value<std::string>(
      reader,
      "SELECT member FROM member_keys JOIN members ON id = member WHERE key = ? ORDER BY ended_at IS NOT "
      "NULL, scope <> ?, started_at DESC, id LIMIT 1",
      session_key(session), scope);
}

bool note_session(Tx& tx, std::string_view session, std::string_view member, bool begins) {
  return note_key(tx, session_key(session), member, begins);
}

bool note_connection(Tx& tx, std::string_view connection, std::string_view member) {
  return note_key(tx, fmt::format("{}{}", of_connection, connection), member, true);
}

bool close_sessions(Tx& tx, std::string_view member) {
  return tx.exec(
             "UPDATE member_keys SET is_open = 0 WHERE member = ? AND is_open = 1 AND key LIKE 'session:%'",
             member) > 0;
}

bool close_session(Tx& tx, std::string_view member, std::string_view session) {
  tx.exec("UPDATE member_keys SET is_open = 0 WHERE member = ? AND key = ?", member, session_key(session));
  return !tx.row("SELECT 1 FROM member_keys WHERE member = ? AND is_open = 1 AND key LIKE 'session:%'",
                 member);
}

void close_keys(Tx& tx, std::string_view member) {
  tx.exec("UPDATE member_keys SET is_open = 0 WHERE member = ?", member);
}

void drop_keys(Tx& tx, std::string_view member) {
  tx.exec("DELETE FROM member_keys WHERE member = ?", member);
}

}  // namespace cru::members
