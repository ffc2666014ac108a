#include "store/replies_table.h"

#include "store/reply_rows.h"

namespace cru {
namespace {

constexpr Migration replies_schema[] = {{"replies", 1, R"(
CREATE TABLE replies(key TEXT PRIMARY KEY, at INTEGER NOT NULL, input_hash TEXT NOT NULL, text TEXT, failed INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX replies_by_age ON replies(at);
)"},
                                        {"replies", 2, R"(
CREATE TABLE reply_rows(
  seq INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, input_hash TEXT NOT NULL,
  failed INTEGER NOT NULL, text TEXT);
INSERT INTO reply_rows(hash, key, at, input_hash, failed, text)
  SELECT fnv1a(key), key, at, input_hash, failed, text FROM replies ORDER BY at, key;
DROP TABLE replies;
ALTER TABLE reply_rows RENAME TO replies;
CREATE INDEX replies_by_hash ON replies(hash);
)"}};

}  // namespace

std::span<const Migration> reply_migrations() { return replies_schema; }

Result<StoredReply> claim_reply(Tx& tx, const std::string& key, const std::string& input_hash) {
  auto row = tx.row("SELECT text, failed, input_hash, at FROM replies WHERE " REPLY_OF_KEY, key);
  if (row && row->time(3) >= tx.now() - std::chrono::hours(24))
    return StoredReply{false, !row->is_null(0), row->boolean(1), row->text(0), row->text(2)};
  if (row) tx.exec("DELETE FROM replies WHERE " REPLY_OF_KEY, key);
  add_reply_row(tx, key, input_hash, {});
  return StoredReply{.is_ours = true, .text = {}, .input_hash = input_hash};
}

bool is_claimed(Reader& reader, const std::string& key) {
  return reader.row("SELECT 1 FROM replies WHERE " REPLY_OF_KEY, key).has_value();
}

Result<> drop_claim(Tx& tx, const std::string& key) {
  tx.exec("DELETE FROM replies WHERE " REPLY_OF_KEY " AND text IS NULL", key);
  return {};
}

Result<> drop_reply(Tx& tx, const std::string& key) {
  tx.exec("DELETE FROM replies WHERE " REPLY_OF_KEY, key);
  return {};
}

Result<> finish_reply(Tx& tx, const std::string& key, const std::string& text, bool failed) {
  // What was kept with the change is what happened, whatever failed after it.
  tx.exec("UPDATE replies SET text = ?2, failed = ?3 WHERE " REPLY_OF_KEY " AND (text IS NULL OR ?3 = 0)",
          key, text, failed);
  return {};
}

}  // namespace cru
