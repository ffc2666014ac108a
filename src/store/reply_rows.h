#pragma once
/// Rows of stored replies: in the order in which they were written, so that those of a commit are side by
/// side on few pages, and found by the hash of their key. A hash may be that of several keys: the key
/// decides.
#include <optional>
#include <string_view>

#include "store/tx.h"

namespace cru {

/// The condition that finds the row of a key, which is the first argument.
#define REPLY_OF_KEY "hash = fnv1a(?1) AND key = ?1"

/// A row under a key that has none. Drops some of what is older than 24 hours.
void add_reply_row(Tx& tx, std::string_view key, std::string_view input_hash,
                   std::optional<std::string_view> text);

}  // namespace cru
