#pragma once
/// Identity: whom a process of ours speaks for, from the environment it was started with and
/// never from its arguments. `cru mcp`, the hooks and the verbs agree by using this one rule.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/project.h"

namespace cru::edges {

enum class Speaker { mcp, hook, verb };

struct Identity {
  std::string agent_id;    ///< AGENT_ID; else the run's id (CRU_TASK_ID); else for a person's verb the user's
                           ///< name; otherwise empty: the daemon names it
  std::string agent_type;  ///< AGENT_TYPE; else claude_code, codex, …; a person's verb: "person"
  std::string session_id;  ///< SESSION_ID; else the vendor's session id; else CRU_RUN; else empty
  std::string capabilities;      ///< AGENT_CAPABILITIES, separated by commas
  std::string lock_ttl_minutes;  ///< LOCK_TTL_MINUTES
  std::string cwd;
  /// The vendor's session id that an MCP server was started with. Claude Code's may be another session's by
  /// now, or never was one: it counts only for a server that no agent program is known to have started.
  std::string inherited_session = {};
  std::string traceparent = {};  ///< TRACEPARENT: the trace that what is asked for belongs to
  std::string token = {};        ///< see find_credential
  bool is_agent = false;         ///< says so at the door, for good
  /// AGENT_ID where that is no name for an agent. A host's hooks and servers then do without: the daemon
  /// knows the host anyway. A verb says it as it is, and is refused.
  std::string refused_name = {};

  /// As headers for the daemon.
  std::vector<std::pair<std::string, std::string>> headers() const;
};

/// "AGENT_ID=… is not …": why it was left out, for people. `name` is what it was.
std::string why_refused(const std::string& name);

/// `hook_session` is a hook's own session id, as its input says.
Identity find_identity(Speaker speaker, const api::Environment& environment, std::string cwd,
                       std::string hook_session = {});

/// The variables among `environment` by which agent programs find the person's account, proxy and
/// certificates, as the header Cru-Account takes them; empty if there are none. Errors: invalid_argument if
/// they are more than a header holds.
Result<std::string> account_header(const std::map<std::string, std::string>& environment);

/// What shows the daemon of `project` who we are: in one of its runs the run's token; else the key that this
/// place was given by `cru pair redeem`; else nothing, and the daemon looks at our process.
std::string find_credential(const api::Project& project, const api::Environment& environment);
/// Where this place keeps its key for a project. Empty without a home.
std::string key_file(const api::Project& project, const api::Environment& environment);

}  // namespace cru::edges
