#pragma once
/// The table `file_locks` and the fencing counter, which only grows and is shared with work.
#include <span>

#include "coordination/lock.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> lock_migrations();

/// The next fencing token: greater than every one given before, in every room of coordination.
int64_t next_token(Tx& tx);
/// Releases what a session holds, with a `lock.released` event each; how many.
int64_t release_all_in(Tx& tx, std::string_view session_id, std::string_view why);

}  // namespace cru::coordination
