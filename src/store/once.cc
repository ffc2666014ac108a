#include "store/once.h"

#include "store/reply_rows.h"

namespace cru {

namespace {

/// A claim has no reply yet, and neither has what cannot be read.
Result<std::optional<Done>> reply_in(const Row& row, const Once& once) {
  if (row.is_null(0)) return std::nullopt;
  if (row.text_view(1) != once.input_hash)
    return fail(Code::conflict, "this request id was already used with different input", "request_id",
                "use a new request id for each new request");
  auto stored = parse_json(row.text_view(0));
  if (!stored || !stored->is_object()) return std::nullopt;
  return Done{.reply = std::move(stored->get_object()), .changed = false, .kept = row.text(0)};
}

std::optional<Row> row_of(Reader& reader, const Once& once) {
  if (once.key.empty()) return {};
  return read_reply(reader, once.key, "SELECT text, input_hash FROM replies WHERE seq = ? AND key = ?");
}

/// Nothing if there is no row under its key.
int64_t update_row(Tx& tx, const Once& once, const std::string& text) {
  auto seq = find_reply_seq(tx, once.key);
  return seq ? tx.exec("UPDATE replies SET at = ?2, input_hash = ?3, text = ?4, failed = 0 WHERE seq = ?1",
                       *seq, tx.now(), once.input_hash, text)
             : 0;
}

}  // namespace

Result<std::optional<Done>> find_reply(Reader& reader, const Once& once) {
  auto row = row_of(reader, once);
  return row ? reply_in(*row, once) : std::nullopt;
}

void keep_reply(Tx& tx, const Once& once, const Done& done) {
  if (once.key.empty()) return;
  auto text = done.kept.empty() ? to_text(done.reply) : done.kept;
  if (update_row(tx, once, text) == 0) add_reply_row(tx, once.key, once.input_hash, text);
}

Result<OnceReply> OnceReply::find(Tx& tx, const Once& once) {
  OnceReply reply;
  auto row = row_of(tx, once);
  if (!row) return reply;
  reply.has_row_ = true;
  auto earlier = reply_in(*row, once);
  if (!earlier) return fail(std::move(earlier.error()));
  reply.earlier = *std::move(earlier);
  return reply;
}

void OnceReply::keep(Tx& tx, const Once& once, Done& done) const {
  if (once.key.empty()) return;
  if (done.kept.empty()) done.kept = to_text(done.reply);
  if (!has_row_ || update_row(tx, once, done.kept) == 0)
    add_reply_row(tx, once.key, once.input_hash, done.kept);
}

}  // namespace cru
