#pragma once
/// Rules of identity and time in coordination: who asks, and when something is over.
#include <algorithm>
#include <string>
#include <vector>

#include "base/moment.h"
#include "base/once.h"
#include "base/result.h"
#include "members/member.h"

namespace cru::coordination {

/// Whoever asks. A session belongs to whoever began it: `owner` is the run, or empty for the outside.
struct Who {
  std::string agent_id;
  std::string agent_type = "script";
  std::string session_id;   ///< always a UUID
  std::string member = {};  ///< whose session it is
  std::string owner = {};
  /// With the end of a session, told by a hook: the client's own id of the session that is over.
  std::string closes = {};
  std::vector<std::string> capabilities = {};
  std::string cwd = {};  ///< where its relative paths begin; the project's root if empty
  Once once = {};
  /// A person at a command line has no heartbeat and is never stale; its locks end by their TTL.
  bool is_person() const { return agent_type == "person"; }
  bool is_nobody() const { return session_id.empty(); }
};

/// Whoever reads without saying who it is: it has neither a name nor a session, and nothing is kept of it.
inline Who nobody(std::string cwd) {
  return {.agent_id = {}, .agent_type = {}, .session_id = {}, .owner = {}, .cwd = std::move(cwd)};
}

/// As base/agent_id.h says.
bool is_agent_id(std::string_view text);
/// Errors: invalid_argument (`invalid_agent_id`).
Result<> check_agent_id(std::string_view text);
using members::session_id_from;

using cru::after, cru::Deadline, cru::Moment, cru::passed, cru::until;

}  // namespace cru::coordination
