#pragma once
/// Words in the world and who may say and hear them. Agents share the user's uid and his token; what was said
/// to somebody in particular is no more theirs to read than a chat is. Rules only.
#include "api/api.h"

namespace cru::edges {

/// Words need a sender: a run that nobody can tell (decision 0008) may look on, but not speak.
/// Outcomes: nothing; forbidden.
Result<> check_speaker(const api::Operation& operation, const api::Call& call);

/// Who listens, as far as it decides what is heard.
struct Listener {
  api::Callers caller = api::person;
  std::string run_id = {};
  /// Of words that were meant for somebody: a person hears all, a run its own.
  bool hears_direct(std::string_view sender) const;
  /// Conversations (`chat.*`, `subagent.*`), the inbox and direct words are a person's to read.
  bool hears(std::string_view event_type, std::string_view data) const;
};

}  // namespace cru::edges
