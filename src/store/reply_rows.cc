#include "store/reply_rows.h"

namespace cru {
namespace {

/// A little at a time: the first write after a busy day must not clear up all of it.
constexpr int64_t max_dropped = 100;

void drop_old_rows(Tx& tx) {
  auto oldest = tx.row("SELECT at FROM replies ORDER BY seq LIMIT 1");
  if (!oldest) return;
  // It was written before the clock was set back: it stays for a day from now, and not for years.
  if (oldest->time(0) > tx.now())
    tx.exec(
        "UPDATE replies SET at = ?1 WHERE at > ?1 AND seq IN (SELECT seq FROM replies ORDER BY seq LIMIT ?2)",
        tx.now(), max_dropped);
  auto cutoff = tx.now() - std::chrono::hours(24);
  if (oldest->time(0) < cutoff)
    tx.exec("DELETE FROM replies WHERE at < ? AND seq IN (SELECT seq FROM replies ORDER BY seq LIMIT ?)",
            cutoff, max_dropped);
}

}  // namespace

void add_reply_row(Tx& tx, std::string_view key, std::string_view input_hash,
                   std::optional<std::string_view> text) {
  drop_old_rows(tx);
  tx.exec("INSERT INTO replies(hash, key, at, input_hash, failed, text) VALUES(fnv1a(?1), ?1, ?2, ?3, 0, ?4)",
          key, tx.now(), input_hash, text);
}

}  // namespace cru
