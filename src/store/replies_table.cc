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
)"},
                                        {"replies", 3, R"(
CREATE TABLE reply_runs(number INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE reply_hashes(
  run INTEGER NOT NULL, hash INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(run, hash, seq)) WITHOUT ROWID;
INSERT INTO reply_runs(number, last_seq, size) VALUES(0, 0, 0);
INSERT INTO reply_runs(number, last_seq, size) SELECT 1, max(seq), count(*) FROM replies HAVING count(*) > 0;
INSERT INTO reply_hashes(run, hash, seq) SELECT 1, hash, seq FROM replies ORDER BY hash, seq;
DROP INDEX replies_by_hash;
)"}};

}  // namespace

std::span<const Migration> reply_migrations() { return replies_schema; }

Result<StoredReply> claim_reply(Tx& tx, const std::string& key, const std::string& input_hash) {
  auto row =
      read_reply(tx, key, "SELECT text, failed, input_hash, at, seq FROM replies WHERE seq = ? AND key = ?");
  if (row && row->time(3) >= tx.now() - std::chrono::hours(24))
    return StoredReply{false, !row->is_null(0), row->boolean(1), row->text(0), row->text(2)};
  if (row) remove_reply_row(tx, key, row->integer(4));
  add_reply_row(tx, key, input_hash, {});
  return StoredReply{.is_ours = true, .text = {}, .input_hash = input_hash};
}

bool is_claimed(Reader& reader, const std::string& key) { return find_reply_seq(reader, key).has_value(); }

Result<> drop_claim(Tx& tx, const std::string& key) {
  auto row = read_reply(tx, key, "SELECT seq FROM replies WHERE seq = ? AND key = ? AND text IS NULL");
  if (row) remove_reply_row(tx, key, row->integer(0));
  return {};
}

Result<> drop_reply(Tx& tx, const std::string& key) {
  if (auto seq = find_reply_seq(tx, key)) remove_reply_row(tx, key, *seq);
  return {};
}

Result<> finish_reply(Tx& tx, const std::string& key, const std::string& text, bool failed) {
  // What was kept with the change is what happened, whatever failed after it.
  if (auto seq = find_reply_seq(tx, key))
    tx.exec("UPDATE replies SET text = ?2, failed = ?3 WHERE seq = ?1 AND (text IS NULL OR ?3 = 0)", *seq,
            text, failed);
  return {};
}

}  // namespace cru
