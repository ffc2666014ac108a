#pragma once
/// The table of stored replies: what a repeated request gets for 24 hours.
#include <span>

#include "store/store.h"

namespace cru {

std::span<const Migration> reply_migrations();

struct StoredReply {
  bool is_ours = false;      ///< the request is new: carry it out
  bool is_finished = false;  ///< `text` is the first reply
  bool failed = false;
  std::string text;
  std::string input_hash;  ///< of the first request with this key
};
/// Claims `key` for the caller, or says what is known of an earlier claim. Drops what is older than 24 hours.
Result<StoredReply> claim_reply(Tx& tx, const std::string& key, const std::string& input_hash);
/// Whether there is a claim or a reply under `key`, however old: claim_reply then says what it is worth.
bool is_claimed(Reader& reader, const std::string& key);
/// Gives a claim up: nothing was done. Where a reply was kept with the change, it stays.
Result<> drop_claim(Tx& tx, const std::string& key);
/// Drops a reply with its claim: the change that it tells of was taken back.
Result<> drop_reply(Tx& tx, const std::string& key);
/// A failure never replaces a reply that was kept with the change.
Result<> finish_reply(Tx& tx, const std::string& key, const std::string& text, bool failed);

}  // namespace cru
