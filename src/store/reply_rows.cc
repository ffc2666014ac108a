#include "store/reply_rows.h"

#include "base/id.h"
#include "store/columns.h"

namespace cru {
namespace {

/// A little at a time: the first write after a busy day must not clear up all of it.
constexpr int64_t max_dropped = 100, max_hashes_dropped = 1000;

int64_t hash_of(std::string_view key) { return static_cast<int64_t>(fnv1a(key)); }

/// The hashes of a run of which no reply is left.
void drop_oldest_run(Tx& tx) {
  auto run = read_value<int64_t>(tx,
                                 "SELECT number FROM reply_runs WHERE number > 0 AND NOT EXISTS"
                                 " (SELECT 1 FROM replies WHERE seq <= last_seq) ORDER BY number LIMIT 1");
  if (!run) return;
  auto dropped = tx.exec(
      "DELETE FROM reply_hashes WHERE run = ?1 AND hash <= coalesce("
      "(SELECT hash FROM reply_hashes WHERE run = ?1 ORDER BY hash LIMIT 1 OFFSET ?2), 9223372036854775807)",
      *run, max_hashes_dropped);
  if (dropped == 0) tx.exec("DELETE FROM reply_runs WHERE number = ?", *run);
}

/// Gives the number of the next row, where the table is empty: a number must not come back while the hash of
/// an earlier row with it may be there.
std::optional<int64_t> drop_old_rows(Tx& tx) {
  constexpr auto oldest_row = "SELECT at FROM replies ORDER BY seq LIMIT 1";
  auto oldest = read_value<Time>(tx, oldest_row);
  if (oldest && *oldest > tx.now())
    // It was written before the clock was set back: it stays for a day from now, and not for years.
    tx.exec(
        "UPDATE replies SET at = ?1 WHERE at > ?1 AND seq IN (SELECT seq FROM replies ORDER BY seq LIMIT ?2)",
        tx.now(), max_dropped);
  auto cutoff = tx.now() - std::chrono::hours(24);
  if (oldest && *oldest < cutoff) {
    tx.exec("UPDATE reply_runs SET last_seq = (SELECT max(seq) FROM replies) WHERE number = 0");
    tx.exec("DELETE FROM replies WHERE at < ? AND seq IN (SELECT seq FROM replies ORDER BY seq LIMIT ?)",
            cutoff, max_dropped);
    drop_oldest_run(tx);
    oldest = read_value<Time>(tx, oldest_row);
  }
  if (oldest) return {};
  return read_value<int64_t>(tx, "SELECT max(last_seq) + 1 FROM reply_runs");
}

/// Moves what is in run 0 to the newest other one, in order, so that each of its pages is written once.
void empty_run_0(Tx& tx, int64_t seq) {
  auto newest = read_value<int64_t, int64_t>(
      tx, "SELECT number, size FROM reply_runs WHERE number > 0 ORDER BY number DESC LIMIT 1");
  auto [number, size] = newest.value_or(std::tuple(0, replies_in_a_run));
  if (size >= replies_in_a_run) {
    ++number;
    tx.exec("INSERT INTO reply_runs(number, last_seq, size) VALUES(?, ?, 0)", number, seq);
  }
  auto moved = tx.exec(
      "INSERT OR IGNORE INTO reply_hashes(run, hash, seq) SELECT ?, hash, seq FROM reply_hashes"
      " WHERE run = 0",
      number);
  tx.exec("DELETE FROM reply_hashes WHERE run = 0");
  tx.exec("UPDATE reply_runs SET last_seq = ?, size = size + ? WHERE number = ?", seq, moved, number);
}

}  // namespace

std::optional<Row> read_reply(Reader& reader, std::string_view key, std::string_view sql) {
  // Nearly always there is none: a request is new.
  auto rows = read_values<int64_t>(
      reader, "SELECT seq FROM reply_runs CROSS JOIN reply_hashes ON run = number AND hash = ?",
      hash_of(key));
  for (auto seq : rows)
    if (auto row = reader.row(sql, seq, key)) return row;
  return {};
}

std::optional<int64_t> find_reply_seq(Reader& reader, std::string_view key) {
  auto row = read_reply(reader, key, "SELECT seq FROM replies WHERE seq = ? AND key = ?");
  return row ? std::optional(row->integer(0)) : std::nullopt;
}

void add_reply_row(Tx& tx, std::string_view key, std::string_view input_hash,
                   std::optional<std::string_view> text) {
  auto next = drop_old_rows(tx);
  auto hash = hash_of(key);
  tx.exec("INSERT INTO replies(seq, hash, key, at, input_hash, failed, text) VALUES(?, ?, ?, ?, ?, 0, ?)",
          next, hash, key, tx.now(), input_hash, text);
  auto seq = tx.last_inserted();
  // It may be there: the newest row may have been dropped, and its number given again to the same key.
  tx.exec("INSERT OR IGNORE INTO reply_hashes(run, hash, seq) VALUES(0, ?, ?)", hash, seq);
  if (seq % replies_in_run_0 == 0) empty_run_0(tx, seq);
}

void remove_reply_row(Tx& tx, std::string_view key, int64_t seq) {
  tx.exec("DELETE FROM replies WHERE seq = ? AND key = ?", seq, key);
  // Whoever claims and drops the same key again and again must not leave a hash each time.
  tx.exec("DELETE FROM reply_hashes WHERE run IN (SELECT number FROM reply_runs) AND hash = ? AND seq = ?",
          hash_of(key), seq);
}

}  // namespace cru
