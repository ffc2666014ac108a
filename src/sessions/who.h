#pragma once
/// Rules of identity and time in coordination: who asks, and when something is over.
#include <algorithm>
#include <string>
#include <vector>

#include "base/once.h"
#include "base/result.h"
#include "base/time.h"
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

/// One instant on both clocks. Within one boot the boot clock decides, so a jump of the wall clock ends
/// nothing early or late; across boots the wall clock is all there is.
struct Moment {
  Time wall = {};
  std::string boot_id = {};
  BootTime boot = {};
};
/// When something is over, kept in three columns.
using Deadline = Moment;

inline Deadline after(const Moment& now, Duration delay) {
  return {now.wall + delay, now.boot_id, now.boot + delay};
}
/// Negative if `then` has passed.
inline Duration until(const Moment& then, const Moment& now) {
  return then.boot_id == now.boot_id ? then.boot - now.boot : then.wall - now.wall;
}
inline bool passed(const Deadline& deadline, const Moment& now) {
  return until(deadline, now) <= Duration(0);
}

}  // namespace cru::coordination
