#pragma once
/// The fencing counter, which locks and work share: it only grows.
#include <span>

#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> fencing_migrations();
/// The next fencing token: greater than every one given before.
int64_t next_token(Tx& tx);
/// The first of as many in a row.
int64_t next_tokens(Tx& tx, int64_t count);

}  // namespace cru::coordination
