#pragma once
/// The tables `memories` and `memory_tags`, and their full-text index. The newest 50,000 are kept.
#include <span>

#include "handoffs/memory.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> memory_migrations();

void add_memory(Tx& tx, const Memory& memory);
/// Its lessons and tags have grown.
void update_memory(Tx& tx, const Memory& memory);
/// One of the same agent, kind and summary, made after `since`.
std::optional<Memory> find_same(Reader& reader, const Memory& memory, Time since);
/// What passes the filters: the 1,000 that match the query best, or the newest 1,000; any word may match.
std::vector<Candidate> find_candidates(Reader& reader, const Recall& recall);

}  // namespace cru::coordination
