#pragma once
/// The table `memories` and its full-text index.
#include <span>

#include "coordination/memory.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> memory_migrations();

}  // namespace cru::coordination
