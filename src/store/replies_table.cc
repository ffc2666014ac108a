#include "store/replies_table.h"

namespace cru {
namespace {

constexpr Migration replies_schema[] = {{"replies", 1, R"(
CREATE TABLE replies(key TEXT PRIMARY KEY, at INTEGER NOT NULL, input_hash TEXT NOT NULL, text TEXT, failed INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX replies_by_age ON replies(at);
)"}};

}  // namespace

std::span<const Migration> reply_migrations() { return replies_schema; }

Result<StoredReply> claim_reply(Tx& tx, const std::string& key, const std::string& input_hash) {
  tx.exec("DELETE FROM replies WHERE at < ?", tx.now() - std::chrono::hours(24));
  auto row = tx.row("SELECT text, failed, input_hash FROM replies WHERE key = ?", key);
  if (row) return StoredReply{false, !row->is_null(0), row->boolean(1), row->text(0), row->text(2)};
  tx.exec("INSERT INTO replies(key, at, input_hash, text, failed) VALUES(?, ?, ?, NULL, 0)", key, tx.now(),
          input_hash);
  return StoredReply{.is_ours = true, .text = {}, .input_hash = input_hash};
}

Result<> drop_claim(Tx& tx, const std::string& key) {
  tx.exec("DELETE FROM replies WHERE key = ? AND text IS NULL", key);
  return {};
}

Result<> drop_reply(Tx& tx, const std::string& key) {
  tx.exec("DELETE FROM replies WHERE key = ?", key);
  return {};
}

Result<> finish_reply(Tx& tx, const std::string& key, const std::string& text, bool failed) {
  // What was kept with the change is what happened, whatever failed after it.
  tx.exec("UPDATE replies SET text = ?1, failed = ?2 WHERE key = ?3 AND (text IS NULL OR ?2 = 0)", text,
          failed, key);
  return {};
}

}  // namespace cru
