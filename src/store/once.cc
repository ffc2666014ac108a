#include "store/once.h"

#include "store/reply_rows.h"

namespace cru {

Result<std::optional<Done>> find_reply(Reader& reader, const Once& once) {
  if (once.key.empty()) return std::nullopt;
  auto row = reader.row("SELECT text, input_hash FROM replies WHERE " REPLY_OF_KEY " AND text IS NOT NULL",
                        once.key);
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
  auto text = json::serialize(done.reply);
  if (tx.exec("UPDATE replies SET at = ?2, input_hash = ?3, text = ?4, failed = 0 WHERE " REPLY_OF_KEY,
              once.key, tx.now(), once.input_hash, text) == 0)
    add_reply_row(tx, once.key, once.input_hash, text);
}

}  // namespace cru
