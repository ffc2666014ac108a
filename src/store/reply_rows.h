#pragma once
/// Rows of stored replies: in the order in which they were written, so that those of a commit are side by
/// side on few pages, and found by the hash of their key. A hash may be that of several keys: the key
/// decides.
///
/// An entry in an index over all hashes would be on a page of its own for nearly each reply, and so most of
/// what a commit writes. Hashes are therefore gathered in run 0, which has few pages, and now and then moved
/// in order to the newest run, which is full one day. Whoever looks for a hash looks in all runs; there are
/// 1 + replies of a day / 131,072 of them.
#include <optional>
#include <string_view>

#include "store/tx.h"

namespace cru {

constexpr int64_t replies_in_run_0 = 4096, replies_in_a_run = 131'072;

/// The columns that `sql`, "SELECT … FROM replies WHERE seq = ? AND key = ?", reads of the reply under a key.
std::optional<Row> read_reply(Reader& reader, std::string_view key, std::string_view sql);
/// The number of the reply under a key.
std::optional<int64_t> find_reply_seq(Reader& reader, std::string_view key);
/// A row under a key that has none. Drops some of what is older than 24 hours.
void add_reply_row(Tx& tx, std::string_view key, std::string_view input_hash,
                   std::optional<std::string_view> text);
/// The row of this number and key, with its hash.
void remove_reply_row(Tx& tx, std::string_view key, int64_t seq);

}  // namespace cru
