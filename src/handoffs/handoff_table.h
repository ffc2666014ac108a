#pragma once
/// The table `handoffs` and its full-text index. The newest 50,000 are kept.
#include <span>

#include "handoffs/handoff.h"
#include "sessions/sessions_service.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> handoff_migrations();
/// From now on a session that did something ends with a final handoff.
void write_handoffs_at_session_end(Sessions& sessions);
/// Records it with its event `handoff.written`.
void insert_handoff(Tx& tx, const Handoff& handoff);
/// By its id, or by the beginning of one if only one begins so.
std::optional<Handoff> find_handoff(Reader& reader, std::string_view id);
/// Newest first; where `query` has words, those that hold them all, best first. An empty name means all
/// agents.
std::vector<Handoff> list_handoffs(Reader& reader, std::string_view agent_name, std::string_view query,
                                   int64_t limit);

}  // namespace cru::coordination
