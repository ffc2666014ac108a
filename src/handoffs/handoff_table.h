#pragma once
/// The table `handoffs` and its full-text index. The newest 50,000 are kept.
#include <span>

#include "handoffs/handoff.h"
#include "sessions/changeset.h"
#include "sessions/sessions_service.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> handoff_migrations();
/// From now on every session ends with a final handoff.
void write_handoffs_at_session_end(Sessions& sessions);
/// handoff_name, also where the id is a name that was made up and numbered ("claude-3").
std::string handoff_name_of(Reader& reader, std::string_view agent_id, std::string_view agent_type);
/// Records it with its event `handoff.written`.
void insert_handoff(Tx& tx, const Handoff& handoff);
/// By its id, or by the beginning of one if only one begins so.
std::optional<Handoff> find_handoff(Reader& reader, std::string_view id);
struct HandoffFilter {
  std::string agent_name = {};     ///< of this agent; empty: of all
  std::string query = {};          ///< with all of these words; best match first
  std::optional<bool> empty = {};  ///< only those of sessions that did nothing, or only the others
};
/// Newest first: by time, then in the order in which they were written.
std::vector<Handoff> list_handoffs(Reader& reader, const HandoffFilter& filter, int64_t limit);
/// What the session changed in the life in which `handoff` was written, if anything; while that lasts, what
/// it has edited until now, without an id and a head.
std::optional<Changeset> changes_of(Reader& reader, const Handoff& handoff);

}  // namespace cru::coordination
