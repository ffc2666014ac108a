#include "store/once.h"

namespace cru {

Result<std::optional<Done>> find_reply(Reader& reader, const Once& once) {
  if (once.key.empty()) return std::nullopt;
  auto row = reader.row("SELECT text, input_hash FROM replies WHERE key = ? AND text IS NOT NULL", once.key);
  if (!row) return std::nullopt;
  if (row->text(1) != once.input_hash)
    return fail(Code::conflict, "this request id was already used with different input", "request_id",
                "use a new request id for each new request");
  auto stored = parse_json(row->text(0));
  if (!stored || !stored->is_object()) return std::nullopt;
  return Done{.reply = std::move(stored->get_object()), .changed = false};
}

void keep_reply(Tx& tx, const Once& once, const Done& done) {
  if (once.key.empty()) return;
  // A little at a time: the first write after a busy day must not clear up all of it.
  tx.exec("DELETE FROM replies WHERE key IN (SELECT key FROM replies WHERE at < ? LIMIT 100)",
          tx.now() - std::chrono::hours(24));
  tx.exec("INSERT OR REPLACE INTO replies(key, at, input_hash, text, failed) VALUES(?, ?, ?, ?, 0)", once.key,
          tx.now(), once.input_hash, to_text(done.reply));
}

}  // namespace cru
